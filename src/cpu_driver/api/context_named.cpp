// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points that take a context by its handle, or that query or synchronise the current context.
#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/base/raw_enum.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/context/driver_state.hpp"
#include "cpu_driver/properties/device_properties.hpp"
#include "cpu_driver/properties/device_resource.hpp"

namespace flotilla::cpu_driver {
namespace {

/// Implements an entry point for which a null handle means the current context.
template <when_poisoned rule, class Body>
CUresult with_named(char const* entry, CUcontext handle, Body&& body) noexcept {
  return with_driver<rule>(entry, [&] {
    place found;
    if (CUresult const status = named_place(handle, found)) { return status; }
    return body(found);
  });
}

/// Implements an entry point that refuses a null handle.
template <class Body>
CUresult with_this(char const* entry, CUcontext handle, Body&& body) noexcept {
  return with_driver(entry, [&] {
    place found;
    if (handle == nullptr || !find_place(handle, found)) { return CUDA_ERROR_INVALID_CONTEXT; }
    return body(found);
  });
}

CUresult synchronize(place const& which) {
  if (which.part) {
    stream_group::synchronize({&which.part->streams()}, which.whole->resources().flags.spin());
  } else {
    which.whole->synchronize();
  }
  which.whole->resources().fifo.flush();
  return fault::status();
}

bool is_affinity(int type) noexcept { return type >= 0 && type < CU_EXEC_AFFINITY_TYPE_MAX; }

}  // namespace

FLOTILLA_CPU_API CUresult cuCtxGetDevice(CUdevice* ordinal) {
  return with_facts(
      __func__, [&](destroyed_contexts::facts const& its) { return answer(ordinal, its.device); });
}

FLOTILLA_CPU_API CUresult cuCtxGetDevice_v2(CUdevice* ordinal, CUcontext handle) {
  return with_named<when_poisoned::ignore>(__func__, handle, [&](place& found) {
    return answer(ordinal, found.whole->home().ordinal());
  });
}

FLOTILLA_CPU_API CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  return with_named<when_poisoned::refuse>(__func__, handle, [&](place& found) {
    return answer(id, found.part ? found.part->id() : found.whole->id());
  });
}

FLOTILLA_CPU_API CUresult cuCtxGetApiVersion(CUcontext handle, unsigned* version) {
  return with_named<when_poisoned::refuse>(
      __func__, handle, [&](place&) { return answer(version, properties::api_version); });
}

FLOTILLA_CPU_API CUresult cuCtxSynchronize() {
  return with_place(__func__, [](place& here) { return synchronize(here); });
}

FLOTILLA_CPU_API CUresult cuCtxSynchronize_v2(CUcontext handle) {
  return with_named<when_poisoned::refuse>(__func__, handle,
                                           [](place& found) { return synchronize(found); });
}

FLOTILLA_CPU_API CUresult cuCtxRecordEvent(CUcontext handle, CUevent event_handle) {
  return with_this(__func__, handle, [&](place& found) {
    auto const recorded = event::table().find(event_handle);
    if (!recorded || recorded->owner() != found.whole->self()) { return CUDA_ERROR_INVALID_HANDLE; }
    recorded->set_latest(found.part ? stream_group::record({&found.streams()}, recorded->timed())
                                    : found.whole->record(recorded->timed()));
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuCtxWaitEvent(CUcontext handle, CUevent event_handle) {
  return with_this(__func__, handle, [&](place& found) {
    auto const awaited = event::table().find(event_handle);
    if (!awaited) { return CUDA_ERROR_INVALID_HANDLE; }
    auto const latest = awaited->latest();
    if (latest == nullptr) { return CUDA_SUCCESS; }
    found.part ? found.streams().wait_for(latest) : found.whole->wait_for(latest);
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuCtxGetDevResource(CUcontext handle, CUdevResource* resource,
                                              CUdevResourceType type) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    place found;
    if (handle == nullptr || !find_place(handle, found)) { return CUDA_ERROR_INVALID_CONTEXT; }
    if (resource == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    if (raw_enum(type) != CU_DEV_RESOURCE_TYPE_SM) { return CUDA_ERROR_INVALID_RESOURCE_TYPE; }
    *resource = resource_of(found.whole->home().ordinal(), found.streams().allowed());
    return CUDA_SUCCESS;
  });
}

// Execution affinity needs MPS, a server that several processes share. The CPU driver does not
// support MPS.

FLOTILLA_CPU_API CUresult cuCtxGetExecAffinity(CUexecAffinityParam* affinity,
                                               CUexecAffinityType type) {
  return with_context<when_poisoned::ignore>(__func__, [&](context&) {
    bool const asks = affinity != nullptr && is_affinity(raw_enum(type));
    return asks ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuDeviceGetExecAffinitySupport(int* supported, CUexecAffinityType type,
                                                         CUdevice ordinal) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    if (driver_state::get().find_device(ordinal) == nullptr) { return CUDA_ERROR_INVALID_DEVICE; }
    return is_affinity(raw_enum(type)) ? answer(supported, 0) : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace flotilla::cpu_driver
