// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/context_stack_guard.hpp"

namespace flotilla::context {

context_stack_guard::context_stack_guard(context_handle const& context) : context_(context) {
  driver::table const& api = context.api();
  CUcontext top = nullptr;
  api.ctx_pop_current(&top);  // pops the guarded context
  CUcontext next = nullptr;
  while (api.ctx_get_current(&next) == CUDA_SUCCESS && next != nullptr &&
         api.ctx_pop_current(&next) == CUDA_SUCCESS) {
    below_.push_back(next);
  }
  api.ctx_push_current(context.handle());
}

std::string context_stack_guard::restore() {
  driver::table const& api = context_.api();
  restored_ = true;
  int found = 0;
  bool ours_on_top = false;
  CUcontext next = nullptr;
  while (api.ctx_get_current(&next) == CUDA_SUCCESS && next != nullptr &&
         api.ctx_pop_current(&next) == CUDA_SUCCESS) {
    if (found == 0) { ours_on_top = next == context_.handle(); }
    ++found;
  }
  for (auto each = below_.rbegin(); each != below_.rend(); ++each) { api.ctx_push_current(*each); }
  api.ctx_push_current(context_.handle());
  if (found == 0) { return "the callable popped the device's context and did not push it again"; }
  if (found > 1) {
    return "the callable left " + std::to_string(found - 1) + " context" + (found > 2 ? "s" : "") +
           " too many on the stack";
  }
  return ours_on_top ? std::string{} : "the callable left another context current";
}

context_stack_guard::~context_stack_guard() {
  if (!restored_) { static_cast<void>(restore()); }
}

}  // namespace flotilla::context
