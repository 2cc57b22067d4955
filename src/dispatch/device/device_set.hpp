#pragma once
// All devices of a runtime, for threads that drive whichever has work.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "dispatch/device/device_driver.hpp"

namespace flotilla::dispatch {

/// Devices are added while the runtime starts. Threads: any.
class device_set {
 public:
  explicit device_set(runtime_parts const& shared) : shared_(shared) {}
  void add(std::unique_ptr<device_driver> device) { devices_.push_back(std::move(device)); }

  [[nodiscard]] device_driver& operator[](unsigned index) const noexcept {
    return *devices_[index];
  }
  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(devices_.size()); }

  /// Releases the lease at the end of the block, then looks for work once more, because a thread
  /// that announced work while the lease was held did not ring for a worker. Use it for every lease
  /// while a runtime runs.
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
  /// Retires the device's batches that are done, if its lease is free. Starts nothing. @return
  /// whether there were any.
  bool collect_if_free(device_driver& device) const;
  /// The same for every device with batches in flight.
  bool collect_all() const;
  /// Drains the devices that have work and a free lease, beginning with `first`, until `stop` says
  /// so.
  /// @return whether anything moved.
  [[nodiscard]] bool help(helper_filter filter, std::optional<unsigned> first,
                          device_driver::stop_predicate const& stop) const;

  /// Gives up memory or a recorded part. It is freed after every task that could use it has ended:
  /// at once if no task is open and the lease is free.
  void retire(epoch_reclaimer::item const& item) const noexcept;

  /// Whether there is work besides `device`, for the thread that drives it: another device has work
  /// and a free lease, or continuations are due.
  [[nodiscard]] bool other_work_pending(device_driver const& device) const noexcept;
  /// Whether a pass could move anything on.
  [[nodiscard]] bool work_pending() const noexcept;
  /// Whether a device had batches in flight after its last pass.
  [[nodiscard]] bool any_batches() const noexcept;
  /// Whether no device's context can be made current any more.
  [[nodiscard]] bool all_retired() const noexcept;

 private:
  runtime_parts const& shared_;
  std::vector<std::unique_ptr<device_driver>> devices_;
};

}  // namespace flotilla::dispatch
