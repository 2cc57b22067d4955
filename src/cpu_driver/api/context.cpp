// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points that create or destroy contexts, or change the calling thread's context stack.
#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/context/driver_state.hpp"

namespace flotilla::cpu_driver {
namespace {

CUresult create_context(char const* entry, CUcontext* made, unsigned flags,
                        CUdevice ordinal) noexcept {
  return with_driver(entry, [&] {
    device* const home = driver_state::get().find_device(ordinal);
    if (home == nullptr) { return CUDA_ERROR_INVALID_DEVICE; }
    if (made == nullptr || !context_flags::valid(flags)) { return CUDA_ERROR_INVALID_VALUE; }
    if (prohibits_contexts(ordinal)) { return CUDA_ERROR_UNKNOWN; }
    CUcontext const created = context::create(*home, flags, context_kind::owned);
    try {
      context_stack::push(created);
    } catch (...) {
      context::destroy(created);
      throw;
    }
    *made = created;
    return CUDA_SUCCESS;
  });
}

/// Returns whether a thread can make the context current. A released primary context can still
/// become current. Most calls then return CUDA_ERROR_CONTEXT_IS_DESTROYED until the context is
/// retained again. <cuda.h> says so in the description of this status.
bool can_become_current(CUcontext handle) noexcept {
  place found;
  return find_place(handle, found) || context::table().is_standing(handle);
}

}  // namespace

FLOTILLA_CPU_API CUresult cuCtxCreate_v2(CUcontext* made, unsigned flags, CUdevice ordinal) {
  return create_context(__func__, made, flags, ordinal);
}

FLOTILLA_CPU_API CUresult cuCtxCreate_v3(CUcontext* made, CUexecAffinityParam* affinities,
                                         int count, unsigned flags, CUdevice ordinal) {
  if (affinities != nullptr || count != 0) { return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY; }
  return create_context(__func__, made, flags, ordinal);
}

FLOTILLA_CPU_API CUresult cuCtxCreate_v4(CUcontext* made, CUctxCreateParams* wishes, unsigned flags,
                                         CUdevice ordinal) {
  if (wishes != nullptr) {
    if (wishes->numExecAffinityParams != 0) { return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY; }
    if (wishes->cigParams != nullptr) { return CUDA_ERROR_NOT_SUPPORTED; }
  }
  return create_context(__func__, made, flags, ordinal);
}

FLOTILLA_CPU_API CUresult cuCtxDestroy_v2(CUcontext handle) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    if (handle == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    {
      auto const found = context::table().find(handle);
      // A primary context must be released instead. A green context must be destroyed by
      // cuGreenCtxDestroy.
      if (!found || found->kind() == context_kind::primary) { return CUDA_ERROR_INVALID_CONTEXT; }
    }
    if (!context::destroy(handle)) { return CUDA_ERROR_INVALID_CONTEXT; }
    if (context_stack::top() == handle) { context_stack::pop(); }
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuCtxAttach(CUcontext* attached, unsigned flags) {
  return with_place(__func__, [&](place& here) {
    if (attached == nullptr || flags != 0) { return CUDA_ERROR_INVALID_VALUE; }
    here.whole->attach();
    *attached = here.handle;
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuCtxDetach(CUcontext handle) {
  return with_context<when_poisoned::ignore>(__func__, [&](context& current) {
    if (current.self() != handle || context_stack::top() != handle) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (current.kind() == context_kind::primary) {
      // cuCtxDetach undoes only cuCtxAttach. cuDevicePrimaryCtxRelease undoes
      // cuDevicePrimaryCtxRetain.
      return current.detach_but_last() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    }
    if (current.detach()) {
      context::destroy(handle);
      context_stack::pop();
    }
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    if (handle == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    if (!can_become_current(handle)) { return CUDA_ERROR_INVALID_CONTEXT; }
    context_stack::push(handle);
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuCtxPopCurrent_v2(CUcontext* popped) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    CUcontext const taken = context_stack::pop();
    if (taken == nullptr) { return CUDA_ERROR_INVALID_CONTEXT; }
    if (popped != nullptr) { *popped = taken; }
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuCtxSetCurrent(CUcontext handle) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    if (handle != nullptr && !can_become_current(handle)) { return CUDA_ERROR_INVALID_CONTEXT; }
    context_stack::pop();
    if (handle != nullptr) { context_stack::push(handle); }
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuCtxGetCurrent(CUcontext* current) {
  return with_driver<when_poisoned::ignore>(__func__,
                                            [&] { return answer(current, context_stack::top()); });
}

}  // namespace flotilla::cpu_driver
