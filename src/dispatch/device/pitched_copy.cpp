// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/pitched_copy.hpp"

#include <utility>

namespace flotilla::dispatch {

namespace {

/// Returns the type of the memory at one end of the copy.
CUmemorytype type_of(detail::memory_command const& what, memory_op_kind host_side) noexcept {
  if (what.kind == host_side) { return CU_MEMORYTYPE_HOST; }
  // The addresses of several devices are in one address space.
  return what.kind == memory_op_kind::device_to_device ? CU_MEMORYTYPE_UNIFIED
                                                       : CU_MEMORYTYPE_DEVICE;
}

}  // namespace

driver::call_outcome enqueue_pitched_copy(detail::memory_command const& what,
                                          driver::table const& api, CUstream stream) {
  detail::copy_box box = what.box();
  if (box.depth > box.height) {
    std::swap(box.depth, box.height);
    std::swap(box.to.row, box.to.plane);
    std::swap(box.from.row, box.from.plane);
  }
  CUDA_MEMCPY2D call{};
  call.srcMemoryType = type_of(what, memory_op_kind::host_to_device);
  call.dstMemoryType = type_of(what, memory_op_kind::device_to_host);
  call.srcPitch = box.from.row;
  call.dstPitch = box.to.row;
  call.WidthInBytes = box.width;
  call.Height = box.height;
  for (std::size_t i = 0; i < box.depth; ++i) {
    call.srcDevice = what.from + i * box.from.plane;
    call.dstDevice = what.to + i * box.to.plane;
    call.srcHost = reinterpret_cast<void const*>(call.srcDevice);
    call.dstHost = reinterpret_cast<void*>(call.dstDevice);
    CUresult const status = api.memcpy_2d_async(&call, stream);
    if (status != CUDA_SUCCESS) { return {status, "cuMemcpy2DAsync"}; }
  }
  return {};
}

}  // namespace flotilla::dispatch
