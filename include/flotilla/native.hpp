// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Converts handles and statuses to the types of cuda.h and back. No other public header needs
/// cuda.h.

#include <cuda.h>

#include <flotilla/error/driver_status.hpp>
#include <flotilla/memory/device_buffer.hpp>
#include <flotilla/task/callable.hpp>

namespace flotilla {
inline namespace v0_1 {
namespace native {

/// These functions convert a value to the corresponding type of cuda.h, or back. They do not
/// transfer ownership. Threads: any.
[[nodiscard]] inline CUstream stream(task_context const& context) { return context.stream(); }
[[nodiscard]] inline CUcontext context(task_context const& context) { return context.context(); }
[[nodiscard]] inline CUresult status(driver_status status) noexcept {
  return static_cast<CUresult>(status);
}
[[nodiscard]] inline driver_status status(CUresult status) noexcept {
  return static_cast<driver_status>(status);
}
template <class T>
[[nodiscard]] CUdeviceptr address(device_buffer<T> const& buffer) noexcept {
  return static_cast<CUdeviceptr>(buffer.address());
}

}  // namespace native
}  // namespace v0_1
}  // namespace flotilla
