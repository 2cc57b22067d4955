// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// flotilla in a program that uses CUDA itself: memory, kernels, events and streams of the
/// application. These functions take the handle types of cuda.h and of the runtime library.
/// docs/existing_code.md has a recipe for each case.

#include <cstddef>
#include <cstdint>
#include <span>

#include <flotilla/detail/device_range.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/kernel/kernel.hpp>
#include <flotilla/memory/device_span.hpp>
#include <flotilla/memory/host_span.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/task/ticket.hpp>

struct CUevent_st;
struct CUkern_st;
struct CUstream_st;

namespace flotilla {
inline namespace v0_1 {

namespace detail {

FLOTILLA_EXPORT device_range view_device_memory(runtime& owner, device_ordinal device,
                                                void const* memory, std::size_t bytes);
[[nodiscard]] FLOTILLA_EXPORT host_memory check_pinned_memory(runtime& owner, void const* memory,
                                                              std::size_t bytes);
[[nodiscard]] FLOTILLA_EXPORT kernel_ref adopt_kernel(runtime& owner, CUkern_st* handle,
                                                      std::span<parameter_layout const> layout);

}  // namespace detail

/// Returns a view of memory that the application has allocated: memory of `device` (cudaMalloc,
/// cuMemAlloc, cudaMallocAsync), managed memory, or pinned host memory (cudaMallocHost,
/// cudaHostRegister). The memory may belong to any context of the device.
/// @param size  The number of objects at `memory`.
/// @throws invalid_argument  The memory is pageable or on another device, the allocation has fewer
///                           objects, or the device is isolated and the memory is neither a
///                           device_buffer nor a host_buffer. The message says which.
/// @throws unknown_device, poisoned, runtime_closed, used_after_fork
/// Blocks    for one control operation.
/// Lifetime  The memory must stay until the tasks that use it have ended.
template <class T>
[[nodiscard]] device_span<T> view_device_memory(runtime& owner, device_ordinal device, T* memory,
                                                std::size_t size) {
  return detail::range_access::make<device_span<T>>(
      detail::view_device_memory(owner, device, memory, detail::bytes_of(size, sizeof(T))), size);
}

/// Returns a view of pinned memory of the application (cudaMallocHost, cudaHostRegister).
/// @throws invalid_argument  The memory is not pinned, or only a part of it is.
/// @throws poisoned, runtime_closed, used_after_fork
/// Blocks    for one control operation on each device.
/// Lifetime  The memory must stay pinned until the tasks that use it have ended.
template <class T>
[[nodiscard]] host_span<T> view_pinned_memory(runtime& owner, T* memory, std::size_t size) {
  detail::host_memory const kind =
      detail::check_pinned_memory(owner, memory, detail::bytes_of(size, sizeof(T)));
  return detail::range_access::make<host_span<T>>(std::span<T>{memory, size}, kind);
}

/// Makes a kernel of the application launchable as a task. The call loads the kernel on every
/// device.
/// @tparam Parameters  The parameter types of the kernel. Their sizes and offsets are checked.
/// @param handle  A CUkernel, or a cudaKernel_t from cudaGetKernel. (A CUfunction belongs to one
///                context, so it cannot run on several devices.) The library of the kernel must
///                stay loaded until the runtime has ended.
/// @throws invalid_argument  The handle is null, the parameters differ from `Parameters`, or a
///                           device of the runtime is isolated.
/// @throws driver_error      The driver does not know the handle, or cannot load the kernel.
/// Blocks  for one control operation on each device.
template <class... Parameters>
[[nodiscard]] kernel<Parameters...> adopt_kernel(runtime& owner, CUkern_st* handle) {
  constexpr std::size_t count = sizeof...(Parameters);
  detail::parameter_layout const layout[count + 1] = {{sizeof(Parameters), alignof(Parameters)}...,
                                                      {0, 1}};
  return detail::launch_builder::make_kernel<Parameters...>(
      detail::adopt_kernel(owner, handle, std::span{layout, count}));
}

/// Makes a stream of the application wait until the task has ended, successfully or not. Work that
/// is put into the stream after this call begins after that. However many streams share a hardware
/// connection, the wait cannot deadlock, unless a callable before the task waits for later work of
/// a stream of the application.
///
/// @param stream  A CUstream or cudaStream_t of any context and device. The special handles, such
///                as the null stream, name streams of the context that is current on this thread.
/// @throws invalid_argument  The ticket names no task, the stream is capturing a graph, or all
///                           devices of the runtime are isolated.
/// @throws driver_error      The driver refuses the stream, or a special handle needs a current
///                           context.
/// @throws would_deadlock    The call would wait (see Blocks), and the caller is inside a callable
///                           that prevents the launch of the task.
/// @throws poisoned, runtime_closed, used_after_fork
/// Threads   any, even inside a callable.
/// Blocks    Never, if the runtime owns its contexts and the stream belongs to another context.
///           Otherwise (for example, if both use the primary context) until the task is launched or
///           has ended, because the waiting stream could block the launch. A callable is launched
///           when it has returned. The tasks of events and copies to pageable memory are never
///           launched. Meanwhile the caller helps as in ticket::wait. The call also blocks in this
///           way if 8192 flags are in use: each call for a task that is not launched uses one until
///           the task has ended. The driver itself blocks if too many operations of a stream are
///           pending; this call adds two.
/// Cost      Some driver calls. If the task is not launched yet, also a continuation, whose rules
///           apply (see ticket::then): in single-threaded mode, the wait ends during a later pump
///           or wait. If the runtime is poisoned, the wait ends at once.
/// Lifetime  The destructor of the runtime waits until the stream has passed the wait. The stream
///           may be destroyed after it has passed. If the runtime has ended already, the call does
///           nothing.
FLOTILLA_EXPORT void enqueue_wait(ticket const& task, CUstream_st* stream);

}  // namespace v0_1
}  // namespace flotilla
