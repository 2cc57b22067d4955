// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fibers that switch directly to one another. A suspended fiber can be dropped: restart() discards
// its stack.
//
// This code uses Boost.Context's `jump_fcontext` instead of `boost::context::fiber`, for two
// reasons. First, a switch between two fibers of that class takes two jumps instead of one. Second,
// that class throws an exception to unwind a dropped fiber, but kernels are compiled without
// exceptions.
//
// ASan and TSan are told about each switch: ASan needs the new stack, and TSan needs the new fiber.

#include <cstddef>

#include "cpu_driver/kernel/fiber_stack.hpp"

namespace flotilla::cpu_driver {

/// Something that a switch (fiber_switch.hpp) can leave or enter: a fiber, or the OS thread on
/// which fibers run.
struct execution {
  void* context = nullptr;     // the saved context; valid while this execution does not run
  void* fake_stack = nullptr;  // for ASan
  void const* stack_bottom = nullptr;
  std::size_t stack_size = 0;
  void* tsan_fiber = nullptr;
};

class fiber : public execution {
 public:
  /// The first switch to this fiber calls `body(context)`, which must never return.
  fiber(std::size_t stack_bytes, void (*body)(void*), void* context);
  ~fiber();
  fiber(fiber const&) = delete;
  fiber& operator=(fiber const&) = delete;

  [[nodiscard]] bool valid() const noexcept { return stack_.valid(); }
  [[nodiscard]] std::size_t stack_bytes() const noexcept { return stack_.size(); }

  /// Discards the stack without unwinding it. The next switch to this fiber calls `body` again.
  /// Must not be called while the fiber runs.
  void restart();

 private:
  friend struct fiber_entry;

  fiber_stack stack_;
  void (*body_)(void*);
  void* body_context_;
};

/// Makes `own` represent the calling OS thread. Must be called before the first switch from this
/// thread to a fiber.
void adopt_thread(execution& own);

}  // namespace flotilla::cpu_driver
