#pragma once
/// Handles and statuses as the driver's own header has them. The only public header that needs cuda.h.

#include <cuda.h>

#include <flotilla/buffer.hpp>
#include <flotilla/driver_status.hpp>
#include <flotilla/work.hpp>

namespace flotilla::native {

/// The same values by their other names. Nothing is owned. Threads: any.
[[nodiscard]] inline CUstream stream(task_context const& context) noexcept { return context.stream(); }
[[nodiscard]] inline CUcontext context(task_context const& context) noexcept { return context.context(); }
[[nodiscard]] inline CUresult status(driver_status status) noexcept { return static_cast<CUresult>(status); }
[[nodiscard]] inline driver_status status(CUresult status) noexcept { return static_cast<driver_status>(status); }
template <class T>
[[nodiscard]] CUdeviceptr address(device_buffer<T> const& buffer) noexcept {
  return static_cast<CUdeviceptr>(buffer.address());
}

}  // namespace flotilla::native
