// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Describes tasks for error messages.

#include <chrono>
#include <string>
#include <vector>

#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/recording/recorded_parts.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// Threads: any. If the caller does not hold the lease of the task's device, the text may describe
/// a later task in the same slot.
class task_text {
 public:
  task_text(task_table const& tasks, kernel_table const& kernels, recorded_parts const& parts)
      : tasks_(tasks), kernels_(kernels), parts_(parts) {}

  /// Describes the task, for example "kernel 'saxpy', label 'step 3', device 1 (NVIDIA H200)".
  /// A chunk is described with the indices of its items.
  /// @param subject  The description of the device (context_handle::subject).
  [[nodiscard]] std::string describe(slot_address task, std::string const& subject) const;
  /// Describes what the task does, without its label and device.
  [[nodiscard]] std::string describe_work(slot_address task) const;
  /// The label of the task, or an empty text.
  [[nodiscard]] std::string label_of(slot_address task) const {
    return tasks_.at(task).labelled ? tasks_.side(task).label.data() : std::string{};
  }
  /// Describes an item of a chunk as if the item were a task of its own.
  [[nodiscard]] std::string describe_item(slot_address chunk, std::string const& subject) const {
    return launch_of(chunk) + end_of(chunk, subject);
  }

  /// Describes the kernels and recordings that were launched on a device after `when`.
  [[nodiscard]] std::vector<std::string> launched_after(std::chrono::steady_clock::time_point when,
                                                        unsigned device) const;

 private:
  [[nodiscard]] std::string launch_of(slot_address task) const {
    return "kernel '" + kernels_.kernels[tasks_.at(task).kernel].name + "'";
  }
  /// The label and the device.
  [[nodiscard]] std::string end_of(slot_address task, std::string const& subject) const;

  task_table const& tasks_;
  kernel_table const& kernels_;
  recorded_parts const& parts_;
};

}  // namespace flotilla::dispatch
