// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/near_records.hpp"

#include "dispatch/graph/copy_kernels.hpp"

namespace flotilla::dispatch {

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
