// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points for events.
#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"

namespace flotilla::cpu_driver {
namespace {

template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_event(char const* entry, CUevent handle, Body&& body) noexcept {
  return with_driver<rule>(entry, [&] {
    auto const found = event::table().find(handle);
    return found ? body(*found) : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult elapsed_time(char const* entry, float* milliseconds, CUevent start, CUevent end) noexcept {
  return with_driver(entry, [&] {
    auto const first = event::table().find(start);
    auto const second = event::table().find(end);
    if (!first || !second || !first->timed() || !second->timed() ||
        first->owner() != second->owner()) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    auto const from = first->latest();
    auto const to = second->latest();
    if (!from || !to) { return CUDA_ERROR_INVALID_HANDLE; }
    if (milliseconds == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    if (!from->completed() || !to->completed()) { return CUDA_ERROR_NOT_READY; }
    *milliseconds = std::chrono::duration<float, std::milli>(to->time() - from->time()).count();
    return CUDA_SUCCESS;
  });
}

CUresult record(char const* entry, CUevent handle, CUstream target) noexcept {
  return with_stream(entry, target, [&](stream& found) {
    auto const recorded = event::table().find(handle);
    if (!recorded || recorded->owner() != found.resources().handle) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    auto made = std::make_shared<event_record>(recorded->timed());
    found.enqueue(record_event{made});
    recorded->set_latest(std::move(made));
    return CUDA_SUCCESS;
  });
}

}  // namespace

FLOTILLA_CPU_API CUresult cuEventCreate(CUevent* made, unsigned flags) {
  return with_context(__func__, [&](context& current) {
    constexpr unsigned known =
        CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (made == nullptr || (flags & ~known) != 0) { return CUDA_ERROR_INVALID_VALUE; }
    // CUDA requires CU_EVENT_DISABLE_TIMING for an interprocess event.
    if (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if ((flags & CU_EVENT_INTERPROCESS) != 0) { return CUDA_ERROR_NOT_SUPPORTED; }
    *made = event::table().open(current.self(), flags)->self();
    current.events().add(*made, [](CUevent handle) { return event::table().close(handle); });
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuEventDestroy_v2(CUevent handle) {
  return with_driver<when_poisoned::act_and_report>(__func__, [&] {
    CUcontext owner = nullptr;
    {
      auto const found = event::table().find(handle);
      if (!found) { return CUDA_ERROR_INVALID_HANDLE; }
      owner = found->owner();
    }
    auto const live = context::table().find(owner);
    return live && live->events().close(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

FLOTILLA_CPU_API CUresult cuEventRecord(CUevent handle, CUstream target) {
  return record(__func__, handle, target);
}

FLOTILLA_CPU_API CUresult cuEventRecordWithFlags(CUevent handle, CUstream target, unsigned flags) {
  // The only flag in CUDA is CU_EVENT_RECORD_EXTERNAL, which has a meaning only in a stream
  // capture. The CPU driver does not support captures.
  if (flags != 0) { return CUDA_ERROR_INVALID_VALUE; }
  return record(__func__, handle, target);
}

FLOTILLA_CPU_API CUresult cuEventQuery(CUevent handle) {
  return with_event(__func__, handle, [](event& found) {
    auto const latest = found.latest();
    bool const passed = !latest || latest->completed();
    // A fault also completes event records that no stream has reached. Therefore check for a fault
    // after reading the state of the record.
    auto const owner = context::table().find(found.owner());
    int const device = owner ? owner->home().ordinal() : 0;
    if (CUresult const status = owner ? fault::status(device) : fault::status()) { return status; }
    return passed ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

FLOTILLA_CPU_API CUresult cuEventSynchronize(CUevent handle) {
  return with_event(__func__, handle, [](event& found) {
    auto const latest = found.latest();
    if (!latest) { return CUDA_SUCCESS; }
    auto const owner = context::table().find(found.owner());
    spin_times times = owner ? owner->resources().flags.spin() : spin_times{};
    if (found.blocking()) { times = {.spin = {}, .yield = {}}; }
    latest->wait(times);
    if (owner) { owner->resources().fifo.flush(); }
    return fault::status();
  });
}

FLOTILLA_CPU_API CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return elapsed_time(__func__, milliseconds, start, end);
}

FLOTILLA_CPU_API CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return elapsed_time(__func__, milliseconds, start, end);
}

}  // namespace flotilla::cpu_driver
