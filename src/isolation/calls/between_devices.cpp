// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/calls/between_devices.hpp"

#include <algorithm>

#include "isolation/calls/pieces.hpp"
#include "isolation/calls/sent_copies.hpp"
#include "isolation/calls/target.hpp"

namespace flotilla::isolated {

namespace {

/// Makes a context current on this thread. The base driver learns only of its own contexts.
class with_context {
 public:
  explicit with_context(CUcontext which) : is_base_(is_foreign(which)) {
    auto& contexts = thread_state::get().contexts;
    contexts.reserve(contexts.size() + 1);
    if (is_base_) { status_ = base().ctx_push_current(which); }
    if (status_ == CUDA_SUCCESS) { contexts.push_back(which); }
  }
  ~with_context() {
    if (status_ != CUDA_SUCCESS) { return; }
    CUcontext popped = nullptr;
    if (is_base_) { base().ctx_pop_current(&popped); }
    thread_state::get().contexts.pop_back();
  }
  with_context(with_context const&) = delete;
  with_context& operator=(with_context const&) = delete;
  [[nodiscard]] CUresult status() const noexcept { return status_; }

 private:
  bool const is_base_;
  CUresult status_ = CUDA_SUCCESS;
};

/// The stream in which the base driver copies. cuMemcpyDtoH would use the legacy stream, which
/// fails while another thread captures a stream. CPU devices have no stream for each thread.
CUstream base_stream() noexcept {
  return base().kind == device_kind::gpu ? CU_STREAM_PER_THREAD : nullptr;
}

/// Waits for a copy that the base driver has got.
CUresult base_waited(CUresult answer) {
  return answer == CUDA_SUCCESS ? base().stream_synchronize(base_stream()) : answer;
}

/// Copies between the device of a context and the piece of this thread, and waits.
CUresult read_piece(CUcontext context, CUdeviceptr from, std::size_t bytes) {
  with_context const now{context};
  if (now.status() != CUDA_SUCCESS) { return now.status(); }
  return is_foreign(context)
             ? base_waited(base().memcpy_dtoh_async(scratch(), from, bytes, base_stream()))
             : send_dtoh(scratch(), from, bytes);
}

CUresult write_piece(CUcontext context, CUdeviceptr to, std::size_t bytes) {
  with_context const now{context};
  if (now.status() != CUDA_SUCCESS) { return now.status(); }
  if (is_foreign(context)) {
    return base_waited(base().memcpy_htod_async(to, scratch(), bytes, base_stream()));
  }
  // cuMemcpyHtoD may return when it has read up to 64 KiB of memory that is not pinned. The stream
  // of the copy would not wait for the rest.
  CUresult const answer = send_htod(to, scratch(), bytes);
  return answer == CUDA_SUCCESS ? wait_for(nullptr) : answer;
}

/// Copies bytes between the memory of two devices, through this process.
CUresult copy_between(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, std::size_t bytes) {
  return in_pieces(bytes, [&](std::size_t at, std::size_t size) {
    CUresult const answer = read_piece(from_context, from + at, size);
    return answer == CUDA_SUCCESS ? write_piece(to_context, to + at, size) : answer;
  });
}

/// Copies rows in a context, and waits.
CUresult copy_now(CUcontext context, CUDA_MEMCPY2D const& what) {
  with_context const now{context};
  if (now.status() != CUDA_SUCCESS) { return now.status(); }
  if (is_foreign(context)) { return base_waited(base().memcpy_2d_async(&what, base_stream())); }
  CUresult const answer = send_2d(&what, nullptr);
  return answer == CUDA_SUCCESS ? wait_for(nullptr) : answer;
}

}  // namespace

CUcontext context_of(CUdeviceptr address) {
  isolated_device* const on = device_of(address);
  if (on == nullptr) { return nullptr; }
  std::lock_guard const lock{on->mutex()};
  auto const found = on->memory().find(address);
  return found ? on->objects().handle_of(found->context).as<CUcontext>() : nullptr;
}

CUresult copy_rows_between(CUDA_MEMCPY2D const* what, CUcontext to_context, CUcontext from_context,
                           CUstream stream) {
  // What is ahead in the stream may write the source or read the destination.
  if (CUresult const answer = wait_for(stream); answer != CUDA_SUCCESS) { return answer; }
  CUdeviceptr const from = what->srcDevice + what->srcY * what->srcPitch + what->srcXInBytes;
  CUdeviceptr const to = what->dstDevice + what->dstY * what->dstPitch + what->dstXInBytes;
  std::size_t const width = what->WidthInBytes;
  // As many rows at once as fit into a piece.
  std::size_t const at_once = width != 0 ? thread_state::scratch_bytes / width : 0;
  if (scratch() == nullptr) { return CUDA_ERROR_OUT_OF_MEMORY; }
  for (std::size_t row = 0; row < what->Height; row += std::max<std::size_t>(at_once, 1)) {
    CUdeviceptr const source = from + row * what->srcPitch;
    CUdeviceptr const destination = to + row * what->dstPitch;
    CUresult answer = CUDA_SUCCESS;
    if (at_once == 0) {
      answer = copy_between(destination, to_context, source, from_context, width);
    } else {
      CUDA_MEMCPY2D part{};
      part.WidthInBytes = width;
      part.Height = std::min(at_once, what->Height - row);
      part.srcMemoryType = CU_MEMORYTYPE_DEVICE;
      part.srcDevice = source;
      part.srcPitch = what->srcPitch;
      part.dstMemoryType = CU_MEMORYTYPE_HOST;
      part.dstHost = scratch();
      part.dstPitch = width;
      answer = copy_now(from_context, part);
      part.srcMemoryType = CU_MEMORYTYPE_HOST;
      part.srcHost = scratch();
      part.srcPitch = width;
      part.dstMemoryType = CU_MEMORYTYPE_DEVICE;
      part.dstDevice = destination;
      part.dstPitch = what->dstPitch;
      if (answer == CUDA_SUCCESS) { answer = copy_now(to_context, part); }
    }
    if (answer != CUDA_SUCCESS) { return settled(answer); }
  }
  return CUDA_SUCCESS;
}

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
  return copy_between(to, to_context, from, from_context, bytes);
}

}  // namespace flotilla::isolated
