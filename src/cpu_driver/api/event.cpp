// Events.
#include "cpu_driver/api.hpp"
#include "cpu_driver/entry.hpp"

namespace flotilla::cpu_driver {
namespace {

template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_event(char const* entry, CUevent handle, Body&& body) noexcept {
  return with_driver<rule>(entry, [&](driver_state& state) {
    auto const found = state.events().find(handle);
    return found ? body(*found) : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult elapsed_time(char const* entry, float* milliseconds, CUevent start, CUevent end) noexcept {
  return with_driver(entry, [&](driver_state& state) {
    auto const first = state.events().find(start);
    auto const second = state.events().find(end);
    if (!first || !second || !first->timed() || !second->timed() ||
        first->owner() != second->owner()) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    auto const from = first->latest();
    auto const to = second->latest();
    if (!from || !to) { return CUDA_ERROR_INVALID_HANDLE; }
    if (milliseconds == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    if (!from->passed() || !to->passed()) { return CUDA_ERROR_NOT_READY; }
    *milliseconds = std::chrono::duration<float, std::milli>(to->when() - from->when()).count();
    return CUDA_SUCCESS;
  });
}

CUresult record(char const* entry, CUevent handle, CUstream where) noexcept {
  return with_stream(entry, where, [&](stream& found) {
    auto const what = driver_state::get().events().find(handle);
    if (!what || what->owner() != found.owner().self()) { return CUDA_ERROR_INVALID_HANDLE; }
    auto made = std::make_shared<occurrence>(what->timed());
    found.enqueue(record_event{made});
    what->set_latest(std::move(made));
    return CUDA_SUCCESS;
  });
}

}  // namespace

FLOTILLA_CPU_API CUresult cuEventCreate(CUevent* made, unsigned flags) {
  return with_context(__func__, [&](context& current) {
    constexpr unsigned known =
        CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (made == nullptr || (flags & ~known) != 0) { return CUDA_ERROR_INVALID_VALUE; }
    // Other processes can wait for an event, but not measure by it.
    if (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if ((flags & CU_EVENT_INTERPROCESS) != 0) { return CUDA_ERROR_NOT_SUPPORTED; }
    *made = current.create_event(flags);
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuEventDestroy_v2(CUevent handle) {
  return with_driver<when_poisoned::act_and_report>(__func__, [&](driver_state& state) {
    CUcontext owner = nullptr;
    {
      auto const found = state.events().find(handle);
      if (!found) { return CUDA_ERROR_INVALID_HANDLE; }
      owner = found->owner();
    }
    auto const of = state.contexts().find(owner);
    return of && of->destroy_event(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

FLOTILLA_CPU_API CUresult cuEventRecord(CUevent handle, CUstream where) {
  return record(__func__, handle, where);
}

FLOTILLA_CPU_API CUresult cuEventRecordWithFlags(CUevent handle, CUstream where, unsigned flags) {
  // External records mean something in captures only.
  if (flags != 0) { return CUDA_ERROR_INVALID_VALUE; }
  return record(__func__, handle, where);
}

FLOTILLA_CPU_API CUresult cuEventQuery(CUevent handle) {
  return with_event(__func__, handle, [](event& found) {
    auto const latest = found.latest();
    bool const passed = !latest || latest->passed();
    // A fault releases who waits: passed counts only if there was none until then.
    if (CUresult const status = fault::status()) { return status; }
    return passed ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

FLOTILLA_CPU_API CUresult cuEventSynchronize(CUevent handle) {
  return with_event(__func__, handle, [](event& found) {
    auto const latest = found.latest();
    if (!latest) { return CUDA_SUCCESS; }
    auto const owner = driver_state::get().contexts().find(found.owner());
    wait_policy patience = owner ? owner->patience() : wait_policy{};
    if (found.blocking()) { patience = {.spin = {}, .yield = {}}; }
    latest->wait(patience);
    if (owner) { owner->fifo().flush(); }
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
