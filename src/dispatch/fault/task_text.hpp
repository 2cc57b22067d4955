#pragma once
// Tasks in words, for error messages.

#include <string>

#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/recording/recorded_parts.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// Threads: any. The text may be about a later task in the same slot, unless the caller has the
/// lease of the task's device.
class task_text {
 public:
  task_text(task_table const& tasks, kernel_table const& kernels, recorded_parts const& parts)
      : tasks_(tasks), kernels_(kernels), parts_(parts) {}

  /// The task in words, like "kernel 'saxpy', label 'step 3', device 1 (NVIDIA H200)".
  /// @param subject  The device in words: context_handle::subject.
  [[nodiscard]] std::string describe(slot_address task, std::string const& subject) const;

 private:
  task_table const& tasks_;
  kernel_table const& kernels_;
  recorded_parts const& parts_;
};

}  // namespace flotilla::dispatch
