// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/kernel/fiber.hpp"

#include "cpu_driver/kernel/fiber_switch.hpp"

namespace flotilla::cpu_driver {

struct fiber_entry {
  [[noreturn]] static void run(fcontext::transfer_t transfer) {
    auto& self = static_cast<fiber&>(passage::arrived(transfer));
    self.body_(self.body_context_);
    __builtin_unreachable();  // the body never returns
  }
};

fiber::fiber(std::size_t stack_bytes, void (*body)(void*), void* body_context)
    : stack_(stack_bytes), body_(body), body_context_(body_context) {
  if (stack_.valid()) { restart(); }
}

fiber::~fiber() {
  sanitizer::destroyed(*this);
  if (stack_.valid()) { sanitizer::stack_forgotten(stack_.bottom(), stack_.size()); }
}

void fiber::restart() {
  sanitizer::destroyed(*this);
  sanitizer::stack_forgotten(stack_.bottom(), stack_.size());
  sanitizer::created(*this);
  // Leaks the fake stack that ASan made for a dropped fiber. This is acceptable, because fibers are
  // dropped only after a trap or a failed assert.
  fake_stack = nullptr;
  stack_bottom = stack_.bottom();
  stack_size = stack_.size();
  context = fcontext::make_fcontext(stack_.top(), stack_.size(), &fiber_entry::run);
}

void adopt_thread(execution& own) { sanitizer::adopted(own); }

}  // namespace flotilla::cpu_driver
