// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// Copies. Shared memory goes to the worker by its address. Pageable memory of this process goes in
// pieces through memory that the worker has mapped.
#include <algorithm>
#include <cstring>

#include "isolation/calls/calls.hpp"
#include "isolation/calls/forward.hpp"
#include "isolation/calls/target.hpp"

namespace flotilla::isolated {

namespace {

using api = driver::table;

bool is_shared(void const* address) {
  return is_host_address(reinterpret_cast<std::uintptr_t>(address));
}

/// The calling thread's piece of shared memory, or null.
std::byte* scratch() {
  thread_state& mine = thread_state::get();
  if (mine.scratch == nullptr) {
    mine.scratch =
        static_cast<std::byte*>(owner::get().host().allocate(thread_state::scratch_bytes));
  }
  return mine.scratch;
}

/// Returns the status of a copy that has ended or failed. After a failure, waits until no worker
/// that this thread has called and that is lost can use host memory any more: if a worker ends
/// before it answers, a GPU may still execute its copy.
CUresult settled(CUresult answer) {
  if (answer != CUDA_SUCCESS) {
    for (thread_channel const& each : thread_state::get().channels) { each.wait_if_lost(); }
  }
  return answer;
}

/// Calls one(offset, bytes) for each piece, until a call fails.
template <class One>
CUresult in_pieces(std::size_t bytes, One const& one) {
  if (scratch() == nullptr) { return CUDA_ERROR_OUT_OF_MEMORY; }
  CUresult answer = CUDA_SUCCESS;
  for (std::size_t at = 0; at < bytes && answer == CUDA_SUCCESS;
       at += thread_state::scratch_bytes) {
    answer = one(at, std::min(bytes - at, thread_state::scratch_bytes));
  }
  return settled(answer);
}

std::byte const* plus(void const* address, std::size_t bytes) {
  return static_cast<std::byte const*>(address) + bytes;
}

constexpr auto send_htod = forwarded<effect::none, operation::memcpy_htod, &api::memcpy_htod>;
constexpr auto send_dtoh = forwarded<effect::none, operation::memcpy_dtoh, &api::memcpy_dtoh>;
constexpr auto send_htod_async =
    forwarded<effect::none, operation::memcpy_htod_async, &api::memcpy_htod_async>;
constexpr auto send_dtoh_async =
    forwarded<effect::none, operation::memcpy_dtoh_async, &api::memcpy_dtoh_async>;
constexpr auto send_async = forwarded<effect::none, operation::memcpy_async, &api::memcpy_async>;
constexpr auto send_2d = forwarded<effect::none, operation::memcpy_2d_async, &api::memcpy_2d_async>;
constexpr auto wait_for =
    forwarded<effect::none, operation::stream_synchronize, &api::stream_synchronize>;

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

/// Makes a context current on this thread, for the forwarding driver only.
class with_context {
 public:
  explicit with_context(CUcontext which) { thread_state::get().contexts.push_back(which); }
  ~with_context() { thread_state::get().contexts.pop_back(); }
  with_context(with_context const&) = delete;
  with_context& operator=(with_context const&) = delete;
};

/// The context that an allocation belongs to, or null.
CUcontext context_of(CUdeviceptr address) {
  isolated_device* const on = owner::get().device(device_of_address(address));
  if (on == nullptr) { return nullptr; }
  std::lock_guard const lock{on->mutex()};
  auto const found = on->memory().find(address);
  return found ? on->objects().handle_of(found->context).as<CUcontext>() : nullptr;
}

/// Copies bytes between the memory of two devices, through this process.
CUresult copy_between(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, std::size_t bytes) {
  return in_pieces(bytes, [&](std::size_t at, std::size_t size) {
    {
      with_context const now{from_context};
      CUresult const answer = send_dtoh(scratch(), from + at, size);
      if (answer != CUDA_SUCCESS) { return answer; }
    }
    with_context const now{to_context};
    return send_htod(to + at, scratch(), size);
  });
}

/// Copies rows in a context, and waits.
CUresult copy_now(CUcontext context, CUDA_MEMCPY2D const& what) {
  with_context const now{context};
  CUresult const answer = send_2d(&what, nullptr);
  return answer == CUDA_SUCCESS ? wait_for(nullptr) : answer;
}

/// Copies rows between the memory of two devices, as many at once as fit into a piece.
CUresult copy_rows_between(CUDA_MEMCPY2D const& what) {
  CUdeviceptr const from = what.srcDevice + what.srcY * what.srcPitch + what.srcXInBytes;
  CUdeviceptr const to = what.dstDevice + what.dstY * what.dstPitch + what.dstXInBytes;
  CUcontext const from_context = context_of(from);
  CUcontext const to_context = context_of(to);
  if (from_context == nullptr || to_context == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  std::size_t const width = what.WidthInBytes;
  std::size_t const at_once = width != 0 ? thread_state::scratch_bytes / width : 0;
  if (scratch() == nullptr) { return CUDA_ERROR_OUT_OF_MEMORY; }
  for (std::size_t row = 0; row < what.Height; row += std::max<std::size_t>(at_once, 1)) {
    CUdeviceptr const source = from + row * what.srcPitch;
    CUdeviceptr const destination = to + row * what.dstPitch;
    CUresult answer = CUDA_SUCCESS;
    if (at_once == 0) {
      answer = copy_between(destination, to_context, source, from_context, width);
    } else {
      CUDA_MEMCPY2D part{};
      part.WidthInBytes = width;
      part.Height = std::min(at_once, what.Height - row);
      part.srcMemoryType = CU_MEMORYTYPE_DEVICE;
      part.srcDevice = source;
      part.srcPitch = what.srcPitch;
      part.dstMemoryType = CU_MEMORYTYPE_HOST;
      part.dstHost = scratch();
      part.dstPitch = width;
      answer = copy_now(from_context, part);
      part.srcMemoryType = CU_MEMORYTYPE_HOST;
      part.srcHost = scratch();
      part.srcPitch = width;
      part.dstMemoryType = CU_MEMORYTYPE_DEVICE;
      part.dstDevice = destination;
      part.dstPitch = what.dstPitch;
      if (answer == CUDA_SUCCESS) { answer = copy_now(to_context, part); }
    }
    if (answer != CUDA_SUCCESS) { return settled(answer); }
  }
  return CUDA_SUCCESS;
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
    // What is ahead in the stream may write the source or read the destination.
    CUresult const answer = wait_for(stream);
    return answer == CUDA_SUCCESS ? copy_rows_between(*what) : answer;
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

/// A copy between the devices of two contexts. No worker has the memory of two devices, so the copy
/// goes through this process, and the call waits for it.
CUresult CUDAAPI memcpy_peer_async(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                   CUcontext from_context, std::size_t bytes, CUstream stream) {
  if (is_foreign(to_context) && is_foreign(from_context)) {
    return base().memcpy_peer_async(to, to_context, from, from_context, bytes, stream);
  }
  bool const is_one_worker = is_device_address(to) && is_device_address(from) &&
                             device_of_address(to) == device_of_address(from);
  if (is_one_worker) { return send_async(to, from, bytes, stream); }
  // What is ahead in the stream may write the source or read the destination.
  if (CUresult const answer = wait_for(stream); answer != CUDA_SUCCESS) { return answer; }
  if (is_foreign(from_context) || is_foreign(to_context)) { return CUDA_ERROR_NOT_SUPPORTED; }
  return copy_between(to, to_context, from, from_context, bytes);
}

}  // namespace

void put_copy_calls(driver::table& into) {
  into.memcpy_htod = &memcpy_htod;
  into.memcpy_dtoh = &memcpy_dtoh;
  into.memcpy_htod_async = &memcpy_htod_async;
  into.memcpy_dtoh_async = &memcpy_dtoh_async;
  into.memcpy_async = &memcpy_async;
  into.memcpy_2d_async = &memcpy_2d_async;
  into.memcpy_peer_async = &memcpy_peer_async;
}

}  // namespace flotilla::isolated
