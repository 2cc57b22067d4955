// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points for streams, for host functions, and for operations that write a value or wait for a
// value.

#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/memory/memory_map.hpp"
#include "cpu_driver/stream/device_thread.hpp"

namespace flotilla::cpu_driver {
namespace {

CUresult create_stream(char const* entry, CUstream* made, unsigned flags, int priority) noexcept {
  return with_driver(entry, [&] {
    // The driver of an H200 checks this argument before the context.
    if (made == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    place here;
    if (CUresult const status = current_place(here)) { return status; }
    if ((flags & ~unsigned{CU_STREAM_NON_BLOCKING}) != 0) { return CUDA_ERROR_INVALID_VALUE; }
    auto const kind =
        flags == CU_STREAM_NON_BLOCKING ? stream_kind::non_blocking : stream_kind::blocking;
    *made = here.streams().create(kind, clamped_priority(priority, here.whole->home().ordinal()));
    // Null means that another thread is destroying the context.
    return *made != nullptr ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
  });
}

/// Implements a query about a stream. The query works even after a fault.
template <class Body>
CUresult about_stream(char const* entry, CUstream handle, Body&& body) noexcept {
  return with_stream<when_poisoned::ignore>(entry, handle, std::forward<Body>(body));
}

CUresult write(char const* entry, CUstream target, CUdeviceptr address, std::uint64_t value,
               std::uint8_t width, unsigned flags) noexcept {
  return with_stream(entry, target, [&](stream& found) {
    if ((flags & ~unsigned{CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER}) != 0 ||
        !memory_map::of_process().has_word(address, width)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    found.enqueue(write_value{reinterpret_cast<void*>(address), value, width});
    return CUDA_SUCCESS;
  });
}

CUresult wait(char const* entry, CUstream target, CUdeviceptr address, std::uint64_t value,
              std::uint8_t width, unsigned flags) noexcept {
  return with_stream(entry, target, [&](stream& found) {
    unsigned const comparison = flags & ~unsigned{CU_STREAM_WAIT_VALUE_FLUSH};
    if (comparison > CU_STREAM_WAIT_VALUE_NOR ||
        !memory_map::of_process().has_word(address, width)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    found.enqueue(wait_value{reinterpret_cast<void const*>(address), value, comparison, width});
    return CUDA_SUCCESS;
  });
}

}  // namespace

FLOTILLA_CPU_API CUresult cuStreamCreate(CUstream* made, unsigned flags) {
  return create_stream(__func__, made, flags, stream::least_priority);
}

FLOTILLA_CPU_API CUresult cuStreamCreateWithPriority(CUstream* made, unsigned flags, int priority) {
  return create_stream(__func__, made, flags, priority);
}

FLOTILLA_CPU_API CUresult cuStreamDestroy_v2(CUstream handle) {
  return with_driver<when_poisoned::act_and_report>(__func__, [&] {
    auto const found = stream::table().find(handle);
    return found && found->group().destroy(handle) ? CUDA_SUCCESS : no_stream(handle);
  });
}

FLOTILLA_CPU_API CUresult cuStreamQuery(CUstream handle) {
  return with_stream(__func__, handle, [](stream& found) {
    bool const idle =
        found.kind() == stream_kind::legacy ? found.group().legacy_idle() : found.idle();
    // A fault also makes streams idle. Therefore check for a fault after reading the state of the
    // stream.
    if (CUresult const status = fault_of(found)) { return status; }
    return idle ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

FLOTILLA_CPU_API CUresult cuStreamSynchronize(CUstream handle) {
  return with_stream(__func__, handle, [](stream& found) {
    if (found.kind() == stream_kind::legacy && !found.group().legacy_idle()) {
      // The NULL stream may be empty while blocking streams have work. Therefore wait for a new
      // operation of the NULL stream, which runs only after the blocking streams' work.
      latch reached(1);
      found.enqueue(reach_latch{&reached});
      reached.wait(found.resources().flags.spin());
    } else {
      found.synchronize(found.resources().flags.spin());
    }
    found.resources().fifo.flush();
    return fault_of(found);
  });
}

FLOTILLA_CPU_API CUresult cuStreamWaitEvent(CUstream handle, CUevent awaited, unsigned flags) {
  return with_stream(__func__, handle, [&](stream& found) {
    if ((flags & ~unsigned{CU_EVENT_WAIT_EXTERNAL}) != 0) { return CUDA_ERROR_INVALID_VALUE; }
    auto const found_event = event::table().find(awaited);
    if (!found_event) { return CUDA_ERROR_INVALID_HANDLE; }
    auto latest = found_event->latest();
    if (latest && !latest->completed()) { found.enqueue(wait_event{std::move(latest)}); }
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuStreamGetCtx(CUstream handle, CUcontext* owner) {
  return about_stream(__func__, handle, [&](stream& found) {
    CUcontext const part = found.group().part();
    return answer(owner, part != nullptr ? part : found.resources().handle);
  });
}

FLOTILLA_CPU_API CUresult cuStreamGetDevice(CUstream handle, CUdevice* ordinal) {
  return about_stream(__func__, handle, [&](stream& found) {
    return answer(ordinal, found.resources().thread.device());
  });
}

FLOTILLA_CPU_API CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  return about_stream(__func__, handle,
                      [&](stream& found) { return answer(priority, found.priority()); });
}

FLOTILLA_CPU_API CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  return about_stream(__func__, handle, [&](stream& found) {
    return answer(flags, found.kind() == stream_kind::non_blocking
                             ? unsigned{CU_STREAM_NON_BLOCKING}
                             : unsigned{CU_STREAM_DEFAULT});
  });
}

FLOTILLA_CPU_API CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  return about_stream(__func__, handle, [&](stream& found) { return answer(id, found.id()); });
}

FLOTILLA_CPU_API CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return about_stream(__func__, handle,
                      [&](stream&) { return answer(status, CU_STREAM_CAPTURE_STATUS_NONE); });
}

FLOTILLA_CPU_API CUresult cuStreamEndCapture(CUstream handle, CUgraph*) {
  // The CPU driver does not support captures, so no capture can be ended.
  return with_stream(__func__, handle, [](stream&) { return CUDA_ERROR_ILLEGAL_STATE; });
}

FLOTILLA_CPU_API CUresult cuStreamWriteValue32_v2(CUstream target, CUdeviceptr address,
                                                  cuuint32_t value, unsigned flags) {
  return write(__func__, target, address, value, 4, flags);
}

FLOTILLA_CPU_API CUresult cuStreamWriteValue64_v2(CUstream target, CUdeviceptr address,
                                                  cuuint64_t value, unsigned flags) {
  return write(__func__, target, address, value, 8, flags);
}

FLOTILLA_CPU_API CUresult cuStreamWaitValue32_v2(CUstream target, CUdeviceptr address,
                                                 cuuint32_t value, unsigned flags) {
  return wait(__func__, target, address, value, 4, flags);
}

FLOTILLA_CPU_API CUresult cuStreamWaitValue64_v2(CUstream target, CUdeviceptr address,
                                                 cuuint64_t value, unsigned flags) {
  return wait(__func__, target, address, value, 8, flags);
}

FLOTILLA_CPU_API CUresult cuLaunchHostFunc(CUstream target, CUhostFn function, void* user) {
  return with_stream(__func__, target, [&](stream& found) {
    if (function == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    found.enqueue(call_host{function, user});
    return CUDA_SUCCESS;
  });
}

}  // namespace flotilla::cpu_driver
