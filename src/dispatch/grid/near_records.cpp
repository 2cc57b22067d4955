// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/near_records.hpp"

#include <algorithm>
#include <new>

#include "dispatch/graph/copy_kernels.hpp"

namespace flotilla::dispatch {

CUdeviceptr near_records::of(registered_slabs::piece const& piece) noexcept {
  auto const found = std::find_if(
      all_.begin(), all_.end(), [&](copy_of_piece const& each) { return each.host == piece.host; });
  if (found != all_.end()) { return found->memory; }
  driver::table const& api = context_.api();
  CUdeviceptr memory = 0;
  try {
    all_.reserve(all_.size() + 1);
  } catch (std::bad_alloc const&) { return 0; }
  if (api.mem_alloc_async(&memory, piece.bytes, memory_stream_) != CUDA_SUCCESS) { return 0; }
  // Streams of lanes use the memory, so it must exist before they do. This stream holds no tasks.
  if (api.stream_synchronize(memory_stream_) != CUDA_SUCCESS) {
    api.mem_free_async(memory, memory_stream_);
    return 0;
  }
  all_.push_back({piece.host, memory});
  return memory;
}

void near_records::destroy() noexcept {
  for (copy_of_piece const& each : all_) {
    context_.api().mem_free_async(each.memory, memory_stream_);
  }
  all_.clear();
}

near_records::copy_node::copy_node(near_records const& with, CUdeviceptr to, CUdeviceptr from,
                                   std::size_t bytes) noexcept
    : what_{.to = to, .from = from, .bytes = bytes} {
  constexpr std::size_t block_bytes =
      std::size_t{copy_kernels::words_of_block} * copy_kernels::max_word_bytes;
  node_.func = with.copy_;
  node_.gridDimX = static_cast<unsigned>((bytes + block_bytes - 1) / block_bytes);
  node_.gridDimY = node_.gridDimZ = 1;
  node_.blockDimX = copy_kernels::threads;
  node_.blockDimY = node_.blockDimZ = 1;
  node_.kernelParams = arguments_;
}

}  // namespace flotilla::dispatch
