// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/pitched_copy.hpp"

#include <algorithm>
#include <cstddef>
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
                                          driver::table const& api, CUstream stream,
                                          copy_contexts between) {
  // The greatest distance of rows that the driver accepts (CU_DEVICE_ATTRIBUTE_MAX_PITCH).
  constexpr std::size_t max_pitch = 0x7fffffff;
  auto const greatest = [](std::size_t to, std::size_t from) { return std::max(to, from); };
  detail::copy_box box = what.box();
  if (box.depth > box.height && greatest(box.to.plane, box.from.plane) <= max_pitch) {
    std::swap(box.depth, box.height);
    std::swap(box.to.row, box.to.plane);
    std::swap(box.from.row, box.from.plane);
  }
  // If the rows are too far apart, each of them is a copy of its own.
  bool const one_by_one = greatest(box.to.row, box.from.row) > max_pitch;
  CUDA_MEMCPY2D call{};
  call.srcMemoryType = type_of(what, memory_op_kind::host_to_device);
  call.dstMemoryType = type_of(what, memory_op_kind::device_to_host);
  call.srcPitch = one_by_one ? 0 : box.from.row;
  call.dstPitch = one_by_one ? 0 : box.to.row;
  call.WidthInBytes = box.width;
  call.Height = one_by_one ? 1 : box.height;
  std::size_t const calls_of_plane = one_by_one ? box.height : 1;
  for (std::size_t i = 0; i < box.depth * calls_of_plane; ++i) {
    std::size_t const plane = i / calls_of_plane;
    std::size_t const row = i % calls_of_plane;
    call.srcDevice = what.from + plane * box.from.plane + row * box.from.row;
    call.dstDevice = what.to + plane * box.to.plane + row * box.to.row;
    call.srcHost = reinterpret_cast<void const*>(call.srcDevice);
    call.dstHost = reinterpret_cast<void*>(call.dstDevice);
    CUresult const status = between.from != nullptr
                                ? api.copy_rows_between(&call, between.to, between.from, stream)
                                : api.memcpy_2d_async(&call, stream);
    if (status != CUDA_SUCCESS) { return {status, "cuMemcpy2DAsync"}; }
  }
  return {};
}

}  // namespace flotilla::dispatch
