// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The callables that are running on the calling thread.

#include <cstdint>

#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

/// A running callable. A wait checks whether its thread is inside a callable, because some waits
/// inside a callable would never end.
class callable_frame {
 public:
  /// Adds the frame to the calling thread's list until the end of the block.
  /// @param task  The slot of the callable.
  callable_frame(std::uint64_t runtime, unsigned device, slot_address task) noexcept
      : runtime_(runtime), device_(device), task_(task), outer_(innermost_) {
    innermost_ = this;
  }
  ~callable_frame() { innermost_ = outer_; }
  callable_frame(callable_frame const&) = delete;
  callable_frame& operator=(callable_frame const&) = delete;

  /// Returns the innermost callable of `runtime` on the calling thread, or null if there is none.
  /// Cost: a thread-local load if the thread runs no callable.
  [[nodiscard]] static callable_frame const* innermost(std::uint64_t runtime) noexcept {
    return of_runtime(innermost_, runtime);
  }
  /// Returns the next outer callable of the same runtime, or null if there is none.
  [[nodiscard]] callable_frame const* next() const noexcept { return of_runtime(outer_, runtime_); }
  [[nodiscard]] unsigned device() const noexcept { return device_; }
  [[nodiscard]] slot_address task() const noexcept { return task_; }

 private:
  static callable_frame const* of_runtime(callable_frame const* frame,
                                          std::uint64_t runtime) noexcept {
    while (frame != nullptr && frame->runtime_ != runtime) { frame = frame->outer_; }
    return frame;
  }
  static inline thread_local constinit callable_frame const* innermost_ = nullptr;

  std::uint64_t const runtime_;
  unsigned const device_;
  slot_address const task_;
  callable_frame const* const outer_;
};

}  // namespace flotilla::dispatch
