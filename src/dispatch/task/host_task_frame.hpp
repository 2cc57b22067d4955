// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The host tasks that are running on the calling thread.

#include <cstdint>

#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

/// A running host task. A host task that waits may run host tasks of other runtimes.
class host_task_frame {
 public:
  /// Adds the frame to the calling thread's list until the end of the block.
  host_task_frame(std::uint64_t runtime, slot_address task) noexcept
      : runtime_(runtime), task_(task), outer_(innermost_) {
    innermost_ = this;
  }
  ~host_task_frame() { innermost_ = outer_; }
  host_task_frame(host_task_frame const&) = delete;
  host_task_frame& operator=(host_task_frame const&) = delete;

  /// Returns whether a host task of the runtime is running on the calling thread.
  [[nodiscard]] static bool any_of(std::uint64_t runtime) noexcept {
    for (auto const* frame = innermost_; frame != nullptr; frame = frame->outer_) {
      if (frame->runtime_ == runtime) { return true; }
    }
    return false;
  }
  /// Returns whether the host task in this slot is running on the calling thread.
  [[nodiscard]] static bool runs_here(std::uint64_t runtime, slot_address task) noexcept {
    for (auto const* frame = innermost_; frame != nullptr; frame = frame->outer_) {
      if (frame->runtime_ == runtime && frame->task_ == task) { return true; }
    }
    return false;
  }

 private:
  static inline thread_local constinit host_task_frame const* innermost_ = nullptr;

  std::uint64_t const runtime_;
  slot_address const task_;
  host_task_frame const* const outer_;
};

}  // namespace flotilla::dispatch
