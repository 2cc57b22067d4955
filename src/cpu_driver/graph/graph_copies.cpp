// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Copy nodes and fill nodes of graphs.
#include "cpu_driver/base/raw_enum.hpp"
#include "cpu_driver/context/copies.hpp"
#include "cpu_driver/context/green_context.hpp"
#include "cpu_driver/graph/node_params.hpp"

namespace flotilla::cpu_driver {
namespace {

/// Reads the source or the destination of a copy of one row.
CUresult read(CUmemorytype const& type, void const* host, CUdeviceptr device, std::size_t x,
              copy_end& found) {
  switch (raw_enum(type)) {
    case CU_MEMORYTYPE_HOST:
      found = copy_end::host(static_cast<char const*>(host) + x);
      return CUDA_SUCCESS;
    case CU_MEMORYTYPE_DEVICE: found = copy_end::device(device + x); return CUDA_SUCCESS;
    case CU_MEMORYTYPE_UNIFIED: found = copy_end::either(device + x); return CUDA_SUCCESS;
    case CU_MEMORYTYPE_ARRAY: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

CUresult set_copy(copy_work& work, CUDA_MEMCPY3D const& wanted, CUcontext context) {
  if (!is_any_context(context)) { return CUDA_ERROR_INVALID_CONTEXT; }
  std::size_t const bytes = wanted.WidthInBytes;
  if (bytes == 0 || wanted.Height == 0 || wanted.Depth == 0) { return CUDA_ERROR_INVALID_VALUE; }
  if (wanted.Height > 1 || wanted.Depth > 1 ||
      wanted.srcY + wanted.srcZ + wanted.dstY + wanted.dstZ != 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  copy_end from = copy_end::device(0);
  copy_end to = copy_end::device(0);
  if (CUresult const status =
          read(wanted.srcMemoryType, wanted.srcHost, wanted.srcDevice, wanted.srcXInBytes, from)) {
    return status;
  }
  if (CUresult const status =
          read(wanted.dstMemoryType, wanted.dstHost, wanted.dstDevice, wanted.dstXInBytes, to)) {
    return status;
  }
  if (CUresult const status = check_copy(to, from, bytes)) { return status; }
  work = {reinterpret_cast<void*>(to.address), reinterpret_cast<void const*>(from.address), bytes};
  return CUDA_SUCCESS;
}

CUresult set_fill(fill_work& work, CUDA_MEMSET_NODE_PARAMS const& wanted, CUcontext context) {
  if (!is_any_context(context)) { return CUDA_ERROR_INVALID_CONTEXT; }
  unsigned const width = wanted.elementSize;
  if ((width != 1 && width != 2 && width != 4) || wanted.width == 0 || wanted.height == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (wanted.height > 1) { return CUDA_ERROR_NOT_SUPPORTED; }
  fill_request const request{wanted.dst, wanted.value, static_cast<std::uint8_t>(width),
                             wanted.width};
  if (CUresult const status = check_fill(request)) { return status; }
  work.fill = {reinterpret_cast<void*>(wanted.dst), wanted.value, request.width, request.elements};
  return CUDA_SUCCESS;
}

}  // namespace flotilla::cpu_driver
