// Green contexts, and the parts of devices that they are made of.
#include <algorithm>

#include "cpu_driver/api.hpp"
#include "cpu_driver/device.hpp"
#include "cpu_driver/device_resource.hpp"
#include "cpu_driver/entry.hpp"
#include "cpu_driver/enum_number.hpp"

namespace flotilla::cpu_driver {
namespace {

template <when_poisoned rule, class Body>
CUresult with_green(char const* entry, CUgreenCtx handle, Body&& body) noexcept {
  return with_driver<rule>(entry, [&](driver_state& state) {
    auto const found = state.green_contexts().find(green_context::converted(handle));
    return found ? body(*found) : CUDA_ERROR_INVALID_CONTEXT;
  });
}

}  // namespace

FLOTILLA_CPU_API CUresult cuDeviceGetDevResource(CUdevice ordinal, CUdevResource* resource,
                                                 CUdevResourceType type) {
  return with_driver<when_poisoned::ignore>(__func__, [&](driver_state& state) {
    if (state.find_device(ordinal) == nullptr) { return CUDA_ERROR_INVALID_DEVICE; }
    if (resource == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    if (number_of(type) != CU_DEV_RESOURCE_TYPE_SM) { return CUDA_ERROR_INVALID_RESOURCE_TYPE; }
    *resource = resource_of(ordinal, all_multiprocessors());
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned* groups,
                                                      CUdevResource const* input,
                                                      CUdevResource* remaining, unsigned flags,
                                                      unsigned least) {
  return with_driver<when_poisoned::ignore>(__func__, [&](driver_state&) {
    return split({result, groups, input, remaining, flags, least});
  });
}

FLOTILLA_CPU_API CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* made,
                                                    CUdevResource* resources, unsigned count) {
  return with_driver<when_poisoned::ignore>(__func__, [&](driver_state&) {
    return made != nullptr ? describe(resources, count, *made) : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuGreenCtxCreate(CUgreenCtx* made, CUdevResourceDesc description,
                                           CUdevice ordinal, unsigned flags) {
  return with_driver(__func__, [&](driver_state& state) {
    device* const home = state.find_device(ordinal);
    if (home == nullptr) { return CUDA_ERROR_INVALID_DEVICE; }
    if (made == nullptr || flags != CU_GREEN_CTX_DEFAULT_STREAM) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    multiprocessor_set allowed = all_multiprocessors();  // of no description, as on an H200
    if (int of = -1;
        description != nullptr && (!read_description(description, of, allowed) || of != ordinal)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return green_context::create(*home, std::move(allowed), *made);
  });
}

FLOTILLA_CPU_API CUresult cuGreenCtxDestroy(CUgreenCtx handle) {
  return with_driver<when_poisoned::ignore>(__func__, [&](driver_state&) {
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
    if (number_of(type) != CU_DEV_RESOURCE_TYPE_SM) { return CUDA_ERROR_INVALID_RESOURCE_TYPE; }
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
    *made = found.streams().create(
        stream_kind::non_blocking,
        std::clamp(priority, stream::greatest_priority, stream::least_priority));
    if (flags == CU_STREAM_NON_BLOCKING) { return CUDA_SUCCESS; }
    // Refused, but the caller's handle is overwritten, by one that is no stream's (any more): what
    // stood there before is lost on an H200, too.
    static_cast<void>(found.streams().destroy(*made));
    return CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuStreamGetGreenCtx(CUstream handle, CUgreenCtx* green) {
  return with_stream<when_poisoned::ignore>(__func__, handle, [&](stream& found) {
    green_context const* const part = found.group().part();
    return answer(green, part != nullptr ? part->handle() : nullptr);
  });
}

FLOTILLA_CPU_API CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* owner, CUgreenCtx* green) {
  return with_stream<when_poisoned::ignore>(__func__, handle, [&](stream& found) {
    if (owner == nullptr || green == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    green_context const* const part = found.group().part();
    *owner = found.owner().self();
    *green = part != nullptr ? part->handle() : nullptr;
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuGreenCtxRecordEvent(CUgreenCtx handle, CUevent what) {
  return with_green<when_poisoned::refuse>(__func__, handle, [&](green_context& found) {
    auto const recorded = driver_state::get().events().find(what);
    if (!recorded || recorded->owner() != found.whole().self()) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    recorded->set_latest(stream_group::record({&found.streams()}, recorded->timed()));
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuGreenCtxWaitEvent(CUgreenCtx handle, CUevent what) {
  return with_green<when_poisoned::refuse>(__func__, handle, [&](green_context& found) {
    auto const awaited = driver_state::get().events().find(what);
    if (!awaited) { return CUDA_ERROR_INVALID_HANDLE; }
    if (auto const latest = awaited->latest()) { found.streams().wait_for(latest); }
    return CUDA_SUCCESS;
  });
}

}  // namespace flotilla::cpu_driver
