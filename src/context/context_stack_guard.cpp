// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/context_stack_guard.hpp"

#include <utility>

#include "base/log.hpp"

namespace flotilla::context {

namespace {

/// Pops a context. @return false if the stack is empty, or if the driver refuses.
/// @param refusal  Gets the error if the driver refuses.
bool pop(driver::table const& api, CUcontext& popped, CUresult& refusal) {
  CUcontext top = nullptr;
  // If the driver refuses to name the top, only a pop can tell whether there is one.
  if (api.ctx_get_current(&top) == CUDA_SUCCESS && top == nullptr) { return false; }
  CUresult const answer = api.ctx_pop_current(&popped);
  // The answer for an empty stack is CUDA_ERROR_INVALID_CONTEXT.
  if (answer != CUDA_SUCCESS && answer != CUDA_ERROR_INVALID_CONTEXT) { refusal = answer; }
  return answer == CUDA_SUCCESS;
}

}  // namespace

context_stack_guard::context_stack_guard(context_handle const& context) : context_(context) {
  CUcontext next = nullptr;
  bool is_guarded = true;  // the guarded context is on top
  while (pop(context.api(), next, refusal_)) {
    if (!std::exchange(is_guarded, false)) { below_.push_back(next); }
  }
  context.api().ctx_push_current(context.handle());
}

std::string context_stack_guard::restore() {
  driver::table const& api = context_.api();
  restored_ = true;
  int found = 0;
  bool ours_on_top = false;
  CUcontext next = nullptr;
  while (pop(api, next, refusal_)) {
    if (found == 0) { ours_on_top = next == context_.handle(); }
    ++found;
  }
  for (auto each = below_.rbegin(); each != below_.rend(); ++each) { api.ctx_push_current(*each); }
  api.ctx_push_current(context_.handle());
  if (refusal_ != CUDA_SUCCESS) {
    // Nobody knows what user code has left on the stack, so do not blame it.
    base::log_format(log_level::error,
                     "cuCtxPopCurrent failed around a callable on %s with CUresult %d; the thread "
                     "may keep contexts on its stack",
                     context_.subject().c_str(), static_cast<int>(refusal_));
    return {};
  }
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
