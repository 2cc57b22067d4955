// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// All devices of a runtime, and functions that drain a device if its lease is free.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "dispatch/device/device_driver.hpp"

namespace flotilla::dispatch {

/// Threads: any. `add` is called only while the runtime starts.
class device_set {
 public:
  explicit device_set(runtime_parts const& shared) : shared_(shared) {}
  void add(std::unique_ptr<device_driver> device) { devices_.push_back(std::move(device)); }

  [[nodiscard]] device_driver& operator[](unsigned index) const noexcept {
    return *devices_[index];
  }
  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(devices_.size()); }

  /// Releases the lease at the end of the block. Then asks for a worker if work is pending, because
  /// a thread that announces work while the lease is held asks for no worker. While the runtime
  /// runs, use a guard for every lease.
  class lease_guard {
   public:
    lease_guard(device_set const& devices, device_driver const& device, context::lease lease)
        : devices_(devices), device_(device), lease_(std::move(lease)) {}
    ~lease_guard();
    lease_guard(lease_guard const&) = delete;
    lease_guard& operator=(lease_guard const&) = delete;
    [[nodiscard]] context::lease& lease() noexcept { return *lease_; }

   private:
    device_set const& devices_;
    device_driver const& device_;
    std::optional<context::lease> lease_;
  };

  /// Drains the device if its lease is free. @return whether the drain made progress.
  bool drain_if_free(device_driver& device, helper_filter filter,
                     device_driver::stop_predicate const& stop = {}) const;
  /// If the lease of the device is free, ends the tasks of its completed batches. Starts no tasks.
  /// @return whether any batch was completed.
  bool collect_if_free(device_driver& device) const;
  /// Calls `read` while this thread has the lease of the device, so that no launched task of the
  /// device ends meanwhile. @return false if another thread has the lease, and nothing was called.
  bool read_if_free(device_driver const& device, std::function<void()> const& read) const;
  /// Calls `collect_if_free` for every device with batches in flight. @return whether any batch was
  /// completed.
  bool collect_all() const;
  /// Drains the devices that have work and a free lease, until `stop` returns true.
  /// @param first  The device to drain first. If empty, the first device differs between threads.
  /// @return whether any drain made progress.
  [[nodiscard]] bool help(helper_filter filter, std::optional<unsigned> first,
                          device_driver::stop_predicate const& stop) const;

  /// Takes part in the copies of host memory of all devices, until `stop` returns true. @return
  /// whether it copied anything. Cost: two loads for each device if there is nothing to copy.
  bool share_copies(device_driver::stop_predicate const& stop = {}) const noexcept;

  /// Retires an item: memory or a recorded part. The item is freed after every task that could use
  /// the item has ended. If no task is open and the lease is free, the item is freed at once.
  void retire(epoch_reclaimer::item const& item) const noexcept;

  /// Returns whether a thread drives the device, or should do so. The answer may be out of date.
  [[nodiscard]] bool is_busy(unsigned device) const noexcept;
  /// Returns whether work is pending that does not need `device`: a continuation is due, another
  /// device has work and a free lease, or another device could take a shared task.
  [[nodiscard]] bool other_work_pending(device_driver const& device) const noexcept;
  /// Returns whether any device needs a drain, or shared tasks are pending.
  [[nodiscard]] bool work_pending() const noexcept;
  /// Returns whether work is pending for a device whose lease is free.
  [[nodiscard]] bool unattended_work() const noexcept;
  /// Returns whether any device had batches in flight after its last pass.
  [[nodiscard]] bool any_batches() const noexcept;
  /// Returns whether any device has completed a batch whose tasks no thread has ended yet. The
  /// answer may be out of date. Needs no lease.
  [[nodiscard]] bool any_ended() const noexcept;
  /// Returns whether none of the contexts can be made current any more.
  [[nodiscard]] bool all_retired() const noexcept;

 private:
  runtime_parts const& shared_;
  std::vector<std::unique_ptr<device_driver>> devices_;
};

}  // namespace flotilla::dispatch
