#pragma once
// Protects the caller's context stack from user code, then checks and restores it.

#include <string>
#include <vector>

#include "context/context_handle.hpp"

namespace flotilla::context {

/// During its life the calling thread's stack contains only this context; afterwards it is as
/// before. Without the guard, user code that pops once too often would pop the caller's contexts
/// unnoticed.
///
/// The context must be current at construction (a current_scope is open) and is current again
/// afterwards. Cost: a few pushes and pops, about 100 ns.
class context_stack_guard {
 public:
  explicit context_stack_guard(context_handle const& context);
  ~context_stack_guard();
  context_stack_guard(context_stack_guard const&) = delete;
  context_stack_guard& operator=(context_stack_guard const&) = delete;

  /// Restores the stack now. @return how user code had violated it, in words; empty: not at all.
  [[nodiscard]] std::string restore();

 private:
  context_handle const& context_;
  std::vector<CUcontext> below_;  // from top to bottom
  bool restored_ = false;
};

}  // namespace flotilla::context
