#pragma once
// Fibers that switch directly to one another and can be dropped at any point.
//
// They use Boost.Context's jump and not its fiber class. That class returns to the fiber that
// resumed it, which would need two switches instead of one. It also unwinds a dropped fiber by an
// exception, which cannot pass through kernels, because they are compiled without exceptions.
//
// Every switch is announced to the sanitizers: to ASan with the stack, to TSan with the fiber.

#include <cstddef>

#include "cpu_driver/kernel/fiber_stack.hpp"

namespace flotilla::cpu_driver {

/// A target of a switch (fiber_switch.hpp): a fiber, or the OS thread that waits for its fibers.
struct execution {
  void* context = nullptr;     // where it continues; valid while it does not run
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

  /// Discards the stack without unwinding it: the next switch begins `body` again. Must not be
  /// called from the fiber itself.
  void restart();

 private:
  friend struct fiber_entry;

  fiber_stack stack_;
  void (*body_)(void*);
  void* body_context_;
};

/// Makes `own` represent the calling OS thread. Call before the first switch away from the thread.
void adopt_thread(execution& own);

}  // namespace flotilla::cpu_driver
