#pragma once
// Ends tasks that cannot run on a device.

#include <memory>
#include <string>

#include "context/context_handle.hpp"
#include "dispatch/device/runtime_parts.hpp"
#include "driver/call_outcome.hpp"

namespace flotilla::dispatch {

/// Only the holder of the device's lease.
class failure_reporter {
 public:
  failure_reporter(runtime_parts const& shared, context::context_handle const& context,
                   unsigned device)
      : shared_(shared), context_(context), device_(device) {}

  /// Passes on a driver's answer that belongs to no task.
  void note(CUresult answer) noexcept { shared_.faults.note(answer, device_); }
  /// The driver refused the task, so it fails with that status. If the status is sticky, the task
  /// stays open, because then every open task counts as ended with the fault.
  void refuse(slot_address task, driver::call_outcome why);
  /// A predecessor failed: the task fails with dependency_failed.
  void fail_dependent(slot_address task, std::shared_ptr<failure const> cause);
  /// Ends a task that was never started.
  void abandon(slot_address task, std::shared_ptr<failure const> why);
  /// The task and this device in words.
  [[nodiscard]] std::string describe(slot_address task) const {
    return shared_.text.describe(task, context_.subject());
  }

 private:
  runtime_parts const& shared_;
  context::context_handle const& context_;
  unsigned const device_;
};

}  // namespace flotilla::dispatch
