// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points for copies and fills.
#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/base/raw_enum.hpp"
#include "cpu_driver/context/copies.hpp"

namespace flotilla::cpu_driver {
namespace {

CUresult copy_here(char const* entry, copy_end to, copy_end from, size_t bytes) noexcept {
  return with_place(entry, [&](place& here) { return copy_now(here.streams(), to, from, bytes); });
}

CUresult copy_there(char const* entry, CUstream target, copy_end to, copy_end from,
                    size_t bytes) noexcept {
  return with_stream(entry, target, [&](stream& found) { return copy_in(found, to, from, bytes); });
}

CUresult fill_here(char const* entry, fill_request wanted) noexcept {
  return with_place(entry, [&](place& here) { return fill_now(here.streams(), wanted); });
}

CUresult fill_there(char const* entry, CUstream target, fill_request wanted) noexcept {
  return with_stream(entry, target, [&](stream& found) { return fill_in(found, wanted); });
}

/// Whether each of the handles is null or names a context. Null is allowed because the address
/// alone determines the memory. The driver of an H200 allows null as well.
bool are_contexts_or_none(CUcontext one, CUcontext other) noexcept {
  place found;
  return (one == nullptr || find_place(one, found)) &&
         (other == nullptr || find_place(other, found));
}

/// Whether every copy has valid attributes. They have no effect: the sources are read in the order
/// of the stream, which all orders of access allow.
bool has_valid_attributes(CUmemcpyAttributes const* attributes, size_t const* first_copies,
                          size_t attribute_count, size_t copies) noexcept {
  bool const given = attributes != nullptr && first_copies != nullptr && attribute_count != 0;
  if (!given || first_copies[0] != 0) { return false; }
  for (size_t i = 0; i < attribute_count; ++i) {
    bool const in_order = i == 0 || first_copies[i] > first_copies[i - 1];
    auto const access = raw_enum(attributes[i].srcAccessOrder);
    if (!in_order || first_copies[i] >= copies || access < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
        access > CU_MEMCPY_SRC_ACCESS_ORDER_ANY) {
      return false;
    }
  }
  return true;
}

}  // namespace

FLOTILLA_CPU_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_here(__func__, copy_end::either(to), copy_end::either(from), bytes);
}

FLOTILLA_CPU_API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, void const* from, size_t bytes) {
  return copy_here(__func__, copy_end::device(to), copy_end::host(from), bytes);
}

FLOTILLA_CPU_API CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return copy_here(__func__, copy_end::host(to), copy_end::device(from), bytes);
}

FLOTILLA_CPU_API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_here(__func__, copy_end::device(to), copy_end::device(from), bytes);
}

FLOTILLA_CPU_API CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                       CUcontext from_context, size_t bytes) {
  return with_place(__func__, [&](place& here) {
    if (!are_contexts_or_none(to_context, from_context)) { return CUDA_ERROR_INVALID_CONTEXT; }
    return copy_now(here.streams(), copy_end::device(to), copy_end::device(from), bytes);
  });
}

FLOTILLA_CPU_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                        CUstream target) {
  return copy_there(__func__, target, copy_end::either(to), copy_end::either(from), bytes);
}

FLOTILLA_CPU_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, void const* from, size_t bytes,
                                               CUstream target) {
  return copy_there(__func__, target, copy_end::device(to), copy_end::host(from), bytes);
}

FLOTILLA_CPU_API CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes,
                                               CUstream target) {
  return copy_there(__func__, target, copy_end::host(to), copy_end::device(from), bytes);
}

FLOTILLA_CPU_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                               CUstream target) {
  return copy_there(__func__, target, copy_end::device(to), copy_end::device(from), bytes);
}

FLOTILLA_CPU_API CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                            CUcontext from_context, size_t bytes, CUstream target) {
  return with_stream(__func__, target, [&](stream& found) {
    if (!are_contexts_or_none(to_context, from_context)) { return CUDA_ERROR_INVALID_CONTEXT; }
    return copy_in(found, copy_end::device(to), copy_end::device(from), bytes);
  });
}

FLOTILLA_CPU_API CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes,
                                                size_t count, CUmemcpyAttributes* attributes,
                                                size_t* first_copies, size_t attribute_count,
                                                CUstream target) {
  return with_stream(__func__, target, [&](stream& found) {
    bool const is_valid = to != nullptr && from != nullptr && bytes != nullptr &&
                          target != nullptr && target != CU_STREAM_LEGACY &&
                          has_valid_attributes(attributes, first_copies, attribute_count, count);
    if (!is_valid) { return CUDA_ERROR_INVALID_VALUE; }
    return copy_all_in(found, {{to, count}, {from, count}, {bytes, count}});
  });
}

FLOTILLA_CPU_API CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t elements) {
  return fill_here(__func__, {to, value, 1, elements});
}

FLOTILLA_CPU_API CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t elements) {
  return fill_here(__func__, {to, value, 2, elements});
}

FLOTILLA_CPU_API CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t elements) {
  return fill_here(__func__, {to, value, 4, elements});
}

FLOTILLA_CPU_API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t elements,
                                          CUstream target) {
  return fill_there(__func__, target, {to, value, 1, elements});
}

FLOTILLA_CPU_API CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t elements,
                                           CUstream target) {
  return fill_there(__func__, target, {to, value, 2, elements});
}

FLOTILLA_CPU_API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t elements,
                                           CUstream target) {
  return fill_there(__func__, target, {to, value, 4, elements});
}

}  // namespace flotilla::cpu_driver
