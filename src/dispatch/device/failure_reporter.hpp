// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ends tasks that cannot run on a device.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/device/late_ends.hpp"
#include "dispatch/device/runtime_parts.hpp"
#include "driver/call_outcome.hpp"

namespace flotilla::dispatch {

/// Threads: only the holder of the device's lease.
class failure_reporter {
 public:
  failure_reporter(runtime_parts const& shared, context::context_handle const& context,
                   late_ends& ends, unsigned device)
      : shared_(shared), context_(context), ends_(ends), device_(device) {}

  /// Passes the status of a driver call to the fault monitor.
  void note(CUresult answer) noexcept {
    shared_.faults.note(answer, device_);
    if (answer != CUDA_SUCCESS) [[unlikely]] { look_for_loss(); }
  }
  /// Returns whether a call has said that this isolated device is lost. Until it is replaced, no
  /// task starts.
  [[nodiscard]] bool is_device_lost() const noexcept { return is_device_lost_; }
  /// Keeps a task that was not launched because the isolated device is lost. It starts again after
  /// the device was replaced.
  void keep(slot_address task) { kept_.push_back(task); }
  /// Appends the tasks that were kept to `tasks`. Afterwards the device does not count as lost.
  void take_kept(std::vector<slot_address>& tasks);
  /// Ends a task that the driver has refused, with the driver's status. A sticky status poisons the
  /// runtime instead. Then the task stays open, but every open task counts as ended. If the device
  /// is isolated, keeps the task.
  void refuse(slot_address task, driver::call_outcome why);
  /// Returns the failure of one item of a chunk that the driver has refused.
  /// @param item  The index of the item in the chunk.
  [[nodiscard]] std::shared_ptr<failure const> failure_of_item(slot_address chunk,
                                                               std::uint32_t item,
                                                               driver::call_outcome why);
  /// Ends a task with dependency_failed because its predecessor has failed.
  void fail_dependent(slot_address task, std::shared_ptr<failure const> cause);
  /// Ends a cancelled task with task_cancelled or timed_out.
  void cancel(slot_address task);
  /// Ends a task that was never started, with the failure `why`, or with that of another thread
  /// that has cancelled the task meanwhile.
  void abandon(slot_address task, std::shared_ptr<failure const> why);
  /// Returns the failure of an ended task whose status word is `status`. Returns null if the kernel
  /// has reported no failure.
  [[nodiscard]] std::shared_ptr<failure const> failure_of_status(slot_address task,
                                                                 std::uint64_t status) const;
  /// Returns the limits of the task's launch on this device, for an error message.
  [[nodiscard]] std::string limits_of(slot_address task) const;
  /// Describes the task and this device for an error message.
  [[nodiscard]] std::string describe(slot_address task) const {
    return shared_.text.describe(task, context_.subject());
  }

 private:
  void look_for_loss() noexcept {
    is_device_lost_ = is_device_lost_ || shared_.lost.is_lost(device_);
  }
  /// Ends a task whose end this thread has taken (take_end).
  void end_taken(slot_address task, std::shared_ptr<failure const> why);
  /// Lets go of the slot of a task that another thread ends.
  void drop(slot_address task);
  /// Destroys the callable of the task, and keeps the changes of a replay for the next one.
  void destroy_content(slot_address task);

  runtime_parts const& shared_;
  context::context_handle const& context_;
  late_ends& ends_;
  unsigned const device_;
  bool is_device_lost_ = false;
  std::vector<slot_address> kept_;
};

}  // namespace flotilla::dispatch
