// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// Copies. Shared memory goes to the worker by its address. Pageable memory of this process goes in
// pieces through memory that the worker has mapped.
#include <algorithm>
#include <cstring>

#include "isolation/calls/between_devices.hpp"
#include "isolation/calls/calls.hpp"
#include "isolation/calls/never_throws.hpp"
#include "isolation/calls/pieces.hpp"
#include "isolation/calls/sent_copies.hpp"
#include "isolation/calls/target.hpp"

namespace flotilla::isolated {

namespace {

bool is_shared(void const* address) {
  return is_host_address(reinterpret_cast<std::uintptr_t>(address));
}

std::byte const* plus(void const* address, std::size_t bytes) {
  return static_cast<std::byte const*>(address) + bytes;
}

CUresult CUDAAPI memcpy_htod(CUdeviceptr to, void const* from, std::size_t bytes) {
  bool const is_direct =
      current_target().device == nullptr || from == nullptr || is_shared(from) || bytes == 0;
  if (is_direct) { return settled(send_htod(to, from, bytes)); }
  return in_pieces(bytes, [&](std::size_t at, std::size_t size) {
    std::memcpy(scratch(), plus(from, at), size);
    return send_htod(to + at, scratch(), size);
  });
}

CUresult CUDAAPI memcpy_dtoh(void* to, CUdeviceptr from, std::size_t bytes) {
  bool const is_direct =
      current_target().device == nullptr || to == nullptr || is_shared(to) || bytes == 0;
  if (is_direct) { return settled(send_dtoh(to, from, bytes)); }
  return in_pieces(bytes, [&](std::size_t at, std::size_t size) {
    CUresult const answer = send_dtoh(scratch(), from + at, size);
    if (answer == CUDA_SUCCESS) { std::memcpy(static_cast<std::byte*>(to) + at, scratch(), size); }
    return answer;
  });
}

bool is_of_worker(CUstream stream) {
  target to;
  to.look(stream);
  to.decide();
  return to.device != nullptr;
}

CUresult CUDAAPI memcpy_htod_async(CUdeviceptr to, void const* from, std::size_t bytes,
                                   CUstream stream) {
  if (from == nullptr || is_shared(from) || bytes == 0 || !is_of_worker(stream)) {
    return send_htod_async(to, from, bytes, stream);
  }
  // The worker's driver does not know the piece, so its call returns after it has read the piece.
  return in_pieces(bytes, [&](std::size_t at, std::size_t size) {
    std::memcpy(scratch(), plus(from, at), size);
    return send_htod_async(to + at, scratch(), size, stream);
  });
}

CUresult CUDAAPI memcpy_dtoh_async(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  if (to == nullptr || is_shared(to) || bytes == 0 || !is_of_worker(stream)) {
    return send_dtoh_async(to, from, bytes, stream);
  }
  return in_pieces(bytes, [&](std::size_t at, std::size_t size) {
    CUresult answer = send_dtoh_async(scratch(), from + at, size, stream);
    if (answer == CUDA_SUCCESS) { answer = wait_for(stream); }
    if (answer == CUDA_SUCCESS) { std::memcpy(static_cast<std::byte*>(to) + at, scratch(), size); }
    return answer;
  });
}

CUresult CUDAAPI memcpy_async(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                              CUstream stream) {
  if (!is_of_worker(stream)) { return base().memcpy_async(to, from, bytes, stream); }
  auto const is_known = [](CUdeviceptr address) {
    return is_host_address(address) || is_device_address(address);
  };
  target here;
  here.look(stream);
  here.decide();
  int const ordinal = here.device->ordinal();
  if (is_of_other_device(to, ordinal) || is_of_other_device(from, ordinal)) {
    return CUDA_ERROR_NOT_SUPPORTED;  // cuMemcpyPeerAsync knows the contexts of both ends
  }
  if (is_known(to) && is_known(from)) { return send_async(to, from, bytes, stream); }
  if (is_device_address(to)) {
    return memcpy_htod_async(to, reinterpret_cast<void const*>(from), bytes, stream);
  }
  if (is_device_address(from)) {
    return memcpy_dtoh_async(reinterpret_cast<void*>(to), from, bytes, stream);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI memcpy_2d_async(CUDA_MEMCPY2D const* what, CUstream stream) {
  if (!is_of_worker(stream)) { return base().memcpy_2d_async(what, stream); }
  if (what == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  target here;
  here.look(stream);
  here.decide();
  int const ordinal = here.device->ordinal();
  bool const is_between = what->srcMemoryType != CU_MEMORYTYPE_HOST &&
                          what->dstMemoryType != CU_MEMORYTYPE_HOST &&
                          (is_of_other_device(what->srcDevice, ordinal) ||
                           is_of_other_device(what->dstDevice, ordinal));
  if (is_between) {
    CUcontext const from = context_of(what->srcDevice);
    CUcontext const to = context_of(what->dstDevice);
    bool const is_known = from != nullptr && to != nullptr;
    return is_known ? copy_rows_between(what, to, from, stream) : CUDA_ERROR_INVALID_VALUE;
  }
  bool const reads_host = what->srcMemoryType == CU_MEMORYTYPE_HOST;
  bool const writes_host = what->dstMemoryType == CU_MEMORYTYPE_HOST;
  bool const is_array =
      what->srcMemoryType == CU_MEMORYTYPE_ARRAY || what->dstMemoryType == CU_MEMORYTYPE_ARRAY;
  if (is_array || (reads_host && !is_shared(what->srcHost)) ||
      (writes_host && !is_shared(what->dstHost))) {
    return CUDA_ERROR_NOT_SUPPORTED;  // the worker does not have the memory
  }
  return send_2d(what, stream);
}

}  // namespace

void put_copy_calls(driver::table& into) {
  into.memcpy_htod = never_throws<&memcpy_htod>;
  into.memcpy_dtoh = never_throws<&memcpy_dtoh>;
  into.memcpy_htod_async = never_throws<&memcpy_htod_async>;
  into.memcpy_dtoh_async = never_throws<&memcpy_dtoh_async>;
  into.memcpy_async = never_throws<&memcpy_async>;
  into.memcpy_2d_async = never_throws<&memcpy_2d_async>;
  into.memcpy_peer_async = never_throws<&memcpy_peer_async>;
  into.copy_rows_between = never_throws<&copy_rows_between>;
}

}  // namespace flotilla::isolated
