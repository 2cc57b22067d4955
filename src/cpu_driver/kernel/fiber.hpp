#pragma once
// Fibers that switch straight from one to another, and that can be dropped where they stand.
//
// On Boost.Context's jump: its fiber class always returns to whoever resumed it, which would make
// two switches of one, and unwinds a dropped fiber by an exception, which kernels, compiled without
// exceptions, do not let through.
//
// Sanitizers are told of every switch: ASan which stack is in use, TSan which fiber.

#include <cstddef>

#include "cpu_driver/fiber_stack.hpp"

namespace flotilla::cpu_driver {

/// What can be switched to (fiber_switch.hpp): a fiber, or the OS thread's own flow while it waits
/// for its fibers.
struct execution {
  void* context = nullptr;     // where it goes on; valid while it is switched away from
  void* fake_stack = nullptr;  // ASan
  void const* stack_bottom = nullptr;
  std::size_t stack_size = 0;
  void* tsan_fiber = nullptr;
};

class fiber : public execution {
 public:
  /// `body(context)` begins at the first switch and must never return.
  fiber(std::size_t stack_bytes, void (*body)(void*), void* context);
  ~fiber();
  fiber(fiber const&) = delete;
  fiber& operator=(fiber const&) = delete;

  [[nodiscard]] bool valid() const noexcept { return stack_.valid(); }
  [[nodiscard]] std::size_t stack_bytes() const noexcept { return stack_.size(); }

  /// Forgets whatever stands on the stack, without unwinding it: the next switch begins `body`
  /// anew. Not from the fiber itself.
  void restart();

 private:
  friend struct fiber_entry;

  fiber_stack stack_;
  void (*body_)(void*);
  void* body_context_;
};

/// Makes `own` stand for the calling OS thread: before the first switch away from it.
void adopt_thread(execution& own);

}  // namespace flotilla::cpu_driver
