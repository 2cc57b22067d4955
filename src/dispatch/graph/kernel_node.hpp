// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Describes a launch as parameters of a kernel node.

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dispatch/graph/kernel_table.hpp"

namespace flotilla::dispatch {

/// The properties of a launch other than its kernel.
struct node_contents {
  std::array<std::uint32_t, 3> grid;
  std::array<std::uint32_t, 3> block;
  std::uint32_t shared_bytes;
  std::byte const* arguments;
};

/// Fills in kernel node parameters, and owns the array of argument pointers in them. Threads: one
/// at a time. Allocates only if the kernel has more parameters than all kernels before.
class kernel_node {
 public:
  /// @return parameters that are valid until the next call, and only while the arguments exist.
  CUDA_KERNEL_NODE_PARAMS const& fill(kernel_entry const& kernel, unsigned device,
                                      node_contents const& shape) {
    if (pointers_.size() < kernel.parameters.size()) { pointers_.resize(kernel.parameters.size()); }
    auto* const arguments = const_cast<std::byte*>(shape.arguments);  // the driver only reads them
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
      pointers_[i] = arguments + kernel.parameters[i].offset;
    }
    parameters_.func = kernel.functions[device];
    parameters_.gridDimX = shape.grid[0];
    parameters_.gridDimY = shape.grid[1];
    parameters_.gridDimZ = shape.grid[2];
    parameters_.blockDimX = shape.block[0];
    parameters_.blockDimY = shape.block[1];
    parameters_.blockDimZ = shape.block[2];
    parameters_.sharedMemBytes = shape.shared_bytes;
    parameters_.kernelParams = pointers_.data();
    return parameters_;
  }

 private:
  CUDA_KERNEL_NODE_PARAMS parameters_{};
  std::vector<void*> pointers_;
};

}  // namespace flotilla::dispatch
