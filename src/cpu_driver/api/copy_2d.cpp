// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points for 2D copies, and for allocating pitched memory. Each row of a 2D copy is one
// operation. The whole copy is checked before the first row is copied.
#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/base/raw_enum.hpp"
#include "cpu_driver/context/copies.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/memory/memory_map.hpp"

namespace flotilla::cpu_driver {
namespace {

constexpr std::size_t pitch_granule = 512;  // bytes

/// The source or the destination of a copy: the address of the first row, and the distance between
/// rows in bytes.
struct rows {
  CUmemorytype type;
  CUdeviceptr first;
  std::size_t pitch;

  [[nodiscard]] copy_end row(std::size_t number) const noexcept {
    CUdeviceptr const at = first + number * pitch;
    switch (type) {
      case CU_MEMORYTYPE_HOST: return copy_end::host(reinterpret_cast<void const*>(at));
      case CU_MEMORYTYPE_DEVICE: return copy_end::device(at);
      default: return copy_end::either(at);
    }
  }
};

struct side {
  CUmemorytype type;
  void const* host;
  CUdeviceptr device;
  std::size_t x, y, pitch;
};

CUresult read(side const& given, std::size_t width, std::size_t height, rows& found) {
  int const type = raw_enum(given.type);
  if (type == CU_MEMORYTYPE_ARRAY) { return CUDA_ERROR_NOT_SUPPORTED; }
  bool const on_host = type == CU_MEMORYTYPE_HOST;
  if (!on_host && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUdeviceptr const base = on_host ? reinterpret_cast<CUdeviceptr>(given.host) : given.device;
  std::size_t const pitch = given.pitch != 0 ? given.pitch : given.x + width;
  if (base == 0 || given.x > pitch || width > pitch - given.x) { return CUDA_ERROR_INVALID_VALUE; }
  found = {given.type, base + given.y * pitch + given.x, pitch};
  bool const ours = type == CU_MEMORYTYPE_DEVICE ||
                    (type == CU_MEMORYTYPE_UNIFIED && memory_map::of_process().find(base));
  if (ours && !memory_map::of_process().covers(found.first, (height - 1) * pitch + width)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

/// If the whole copy is allowed, calls `copy_row(to, from, bytes)` for each row. Otherwise returns
/// an error.
template <class Copy>
CUresult copy_rows(CUDA_MEMCPY2D const* wanted, Copy&& copy_row) {
  if (wanted == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  std::size_t const width = wanted->WidthInBytes;
  std::size_t const height = wanted->Height;
  if (width == 0 || height == 0) { return CUDA_SUCCESS; }
  rows from{};
  rows to{};
  if (CUresult const status = read({wanted->srcMemoryType, wanted->srcHost, wanted->srcDevice,
                                    wanted->srcXInBytes, wanted->srcY, wanted->srcPitch},
                                   width, height, from)) {
    return status;
  }
  if (CUresult const status = read({wanted->dstMemoryType, wanted->dstHost, wanted->dstDevice,
                                    wanted->dstXInBytes, wanted->dstY, wanted->dstPitch},
                                   width, height, to)) {
    return status;
  }
  for (std::size_t i = 0; i < height; ++i) {
    if (CUresult const status = copy_row(to.row(i), from.row(i), width)) { return status; }
  }
  return CUDA_SUCCESS;
}

CUresult copy_now_2d(char const* entry, CUDA_MEMCPY2D const* wanted) noexcept {
  return with_place(entry, [&](place& here) {
    return copy_rows(wanted, [&](copy_end to, copy_end from, std::size_t bytes) {
      return copy_now(here.streams(), to, from, bytes);
    });
  });
}

}  // namespace

FLOTILLA_CPU_API CUresult cuMemcpy2D_v2(CUDA_MEMCPY2D const* wanted) {
  return copy_now_2d(__func__, wanted);
}

FLOTILLA_CPU_API CUresult cuMemcpy2DUnaligned_v2(CUDA_MEMCPY2D const* wanted) {
  return copy_now_2d(__func__, wanted);
}

FLOTILLA_CPU_API CUresult cuMemcpy2DAsync_v2(CUDA_MEMCPY2D const* wanted, CUstream where) {
  return with_stream(__func__, where, [&](stream& found) {
    return copy_rows(wanted, [&](copy_end to, copy_end from, std::size_t bytes) {
      return copy_in(found, to, from, bytes);
    });
  });
}

FLOTILLA_CPU_API CUresult cuMemAllocPitch_v2(CUdeviceptr* made, size_t* pitch, size_t width,
                                             size_t height, unsigned element_bytes) {
  return with_context(__func__, [&](context& current) {
    bool const element = element_bytes == 4 || element_bytes == 8 || element_bytes == 16;
    if (made == nullptr || pitch == nullptr || width == 0 || height == 0 || !element) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    std::size_t const row = (width + pitch_granule - 1) / pitch_granule * pitch_granule;
    if (row < width || height > ~std::size_t{0} / row) { return CUDA_ERROR_OUT_OF_MEMORY; }
    CUresult const status = memory_map::of_process().allocate(
        *made, row * height, memory_kind::device, current.home().memory(), current.self(), false);
    if (status == CUDA_SUCCESS) { *pitch = row; }
    return status;
  });
}

}  // namespace flotilla::cpu_driver
