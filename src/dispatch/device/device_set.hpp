#pragma once
// All devices of a runtime. A thread can drain any device that has work.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "dispatch/device/device_driver.hpp"

namespace flotilla::dispatch {

/// `add` is called only while the runtime starts. Threads: any.
class device_set {
 public:
  explicit device_set(runtime_parts const& shared) : shared_(shared) {}
  void add(std::unique_ptr<device_driver> device) { devices_.push_back(std::move(device)); }

  [[nodiscard]] device_driver& operator[](unsigned index) const noexcept {
    return *devices_[index];
  }
  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(devices_.size()); }

  /// Releases the lease at the end of the block, then rechecks for work: a thread that announced
  /// work while the lease was held did not ring for a worker. Use a guard for every lease while the
  /// runtime runs.
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

  /// Drains the device if its lease is free. @return whether anything moved.
  bool drain_if_free(device_driver& device, helper_filter filter,
                     device_driver::stop_predicate const& stop = {}) const;
  /// Retires the completed batches of the device if its lease is free. Starts nothing. @return
  /// whether any batch was completed.
  bool collect_if_free(device_driver& device) const;
  /// Calls `collect_if_free` for every device with batches in flight.
  bool collect_all() const;
  /// Drains the devices that have work and a free lease, until `stop` returns true.
  /// @param first  The device to drain first; empty: any device.
  /// @return whether anything moved.
  [[nodiscard]] bool help(helper_filter filter, std::optional<unsigned> first,
                          device_driver::stop_predicate const& stop) const;

  /// Retires memory or a recorded part. The item is freed after every task that could use it has
  /// ended. If no task is open and the lease is free, the item is freed at once.
  void retire(epoch_reclaimer::item const& item) const noexcept;

  /// Returns whether the thread that drives `device` has other work to do: continuations are due,
  /// shared tasks are pending for another device, or another device has work and a free lease.
  [[nodiscard]] bool other_work_pending(device_driver const& device) const noexcept;
  /// Returns whether a pass of any device could make progress.
  [[nodiscard]] bool work_pending() const noexcept;
  /// Returns whether any device had batches in flight after its last pass.
  [[nodiscard]] bool any_batches() const noexcept;
  /// Returns whether the contexts of all devices are retired, so that none can be made current
  /// again.
  [[nodiscard]] bool all_retired() const noexcept;

 private:
  runtime_parts const& shared_;
  std::vector<std::unique_ptr<device_driver>> devices_;
};

}  // namespace flotilla::dispatch
