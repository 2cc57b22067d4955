// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points for green contexts, and for the device resources from which they are made.

#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/base/raw_enum.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/context/driver_state.hpp"
#include "cpu_driver/properties/device_resource.hpp"

namespace flotilla::cpu_driver {
namespace {

template <when_poisoned rule, class Body>
CUresult with_green(char const* entry, CUgreenCtx handle, Body&& body) noexcept {
  return with_driver<rule>(entry, [&] {
    auto const found = green_context::table().find(green_context::converted(handle));
    return found ? body(*found) : CUDA_ERROR_INVALID_CONTEXT;
  });
}

}  // namespace

FLOTILLA_CPU_API CUresult cuDeviceGetDevResource(CUdevice ordinal, CUdevResource* resource,
                                                 CUdevResourceType type) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    if (driver_state::get().find_device(ordinal) == nullptr) { return CUDA_ERROR_INVALID_DEVICE; }
    if (resource == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    if (raw_enum(type) != CU_DEV_RESOURCE_TYPE_SM) { return CUDA_ERROR_INVALID_RESOURCE_TYPE; }
    *resource = resource_of(ordinal, all_multiprocessors());
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned* groups,
                                                      CUdevResource const* input,
                                                      CUdevResource* remaining, unsigned flags,
                                                      unsigned min_size) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    return split({result, groups, input, remaining, flags, min_size});
  });
}

FLOTILLA_CPU_API CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* made,
                                                    CUdevResource* resources, unsigned count) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    return made != nullptr ? describe(resources, count, *made) : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuGreenCtxCreate(CUgreenCtx* made, CUdevResourceDesc description,
                                           CUdevice ordinal, unsigned flags) {
  return with_driver(__func__, [&] {
    device* const home = driver_state::get().find_device(ordinal);
    if (home == nullptr) { return CUDA_ERROR_INVALID_DEVICE; }
    if (made == nullptr || flags != CU_GREEN_CTX_DEFAULT_STREAM) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    multiprocessor_set allowed =
        all_multiprocessors();  // used if `description` is null, as on an H200
    if (int device = -1; description != nullptr &&
                         (!read_description(description, device, allowed) || device != ordinal)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (prohibits_contexts(ordinal)) { return CUDA_ERROR_UNKNOWN; }
    return green_context::create(*home, std::move(allowed), *made);
  });
}

FLOTILLA_CPU_API CUresult cuGreenCtxDestroy(CUgreenCtx handle) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    return green_context::destroy(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
  });
}

FLOTILLA_CPU_API CUresult cuCtxFromGreenCtx(CUcontext* converted, CUgreenCtx handle) {
  return with_green<when_poisoned::ignore>(
      __func__, handle, [&](green_context& found) { return answer(converted, found.self()); });
}

FLOTILLA_CPU_API CUresult cuGreenCtxGetDevResource(CUgreenCtx handle, CUdevResource* resource,
                                                   CUdevResourceType type) {
  return with_green<when_poisoned::ignore>(__func__, handle, [&](green_context& found) {
    if (resource == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    if (raw_enum(type) != CU_DEV_RESOURCE_TYPE_SM) { return CUDA_ERROR_INVALID_RESOURCE_TYPE; }
    *resource = resource_of(found.whole().home().ordinal(), found.allowed());
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuGreenCtxGetId(CUgreenCtx handle, unsigned long long* id) {
  if (handle != nullptr) {
    return with_green<when_poisoned::ignore>(
        __func__, handle, [&](green_context& found) { return answer(id, found.id()); });
  }
  return with_place<when_poisoned::ignore>(__func__, [&](place& here) {
    return here.part ? answer(id, here.part->id()) : CUDA_ERROR_INVALID_CONTEXT;
  });
}

FLOTILLA_CPU_API CUresult cuGreenCtxStreamCreate(CUstream* made, CUgreenCtx handle, unsigned flags,
                                                 int priority) {
  return with_green<when_poisoned::refuse>(__func__, handle, [&](green_context& found) {
    if (made == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *made = found.streams().create(stream_kind::non_blocking,
                                   clamped_priority(priority, found.whole().home().ordinal()));
    // Null means that another thread is destroying the green context.
    if (*made == nullptr) { return CUDA_ERROR_CONTEXT_IS_DESTROYED; }
    if (flags == CU_STREAM_NON_BLOCKING) { return CUDA_SUCCESS; }
    // If the flags are invalid, the driver of an H200 also leaves an invalid handle in the caller's
    // variable.
    static_cast<void>(found.streams().destroy(*made));
    return CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuStreamGetGreenCtx(CUstream handle, CUgreenCtx* green) {
  return with_stream<when_poisoned::ignore>(__func__, handle, [&](stream& found) {
    return answer(green, green_context::green_handle(found.group().part()));
  });
}

FLOTILLA_CPU_API CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* owner, CUgreenCtx* green) {
  return with_stream<when_poisoned::ignore>(__func__, handle, [&](stream& found) {
    if (owner == nullptr || green == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *owner = found.resources().handle;
    *green = green_context::green_handle(found.group().part());
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuGreenCtxRecordEvent(CUgreenCtx handle, CUevent event_handle) {
  return with_green<when_poisoned::refuse>(__func__, handle, [&](green_context& found) {
    auto const recorded = event::table().find(event_handle);
    if (!recorded || recorded->owner() != found.whole().self()) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    recorded->set_latest(stream_group::record({&found.streams()}, recorded->timed()));
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuGreenCtxWaitEvent(CUgreenCtx handle, CUevent event_handle) {
  return with_green<when_poisoned::refuse>(__func__, handle, [&](green_context& found) {
    auto const awaited = event::table().find(event_handle);
    if (!awaited) { return CUDA_ERROR_INVALID_HANDLE; }
    if (auto const latest = awaited->latest()) { found.streams().wait_for(latest); }
    return CUDA_SUCCESS;
  });
}

}  // namespace flotilla::cpu_driver
