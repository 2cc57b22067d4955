// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies of records in the memory of the device.

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include <flotilla/detail/memory_command.hpp>

#include "dispatch/grid/piece_memory.hpp"

namespace flotilla::dispatch {

/// Every block of a grid reads its record over the bus, and all blocks of a device together read
/// one record in about 8 ns. If tasks have one block each, that is less than the rest of their
/// cost. But a task of 32 blocks would take 260 ns. So for tasks with many blocks, a kernel node
/// first copies all records of the graph into the memory of the device, and the grids read the
/// copies.
///
/// Threads: only the holder of the device's lease, with the context current.
class near_records {
 public:
  /// What the node costs the device: its launch, and the time until its loads have arrived.
  static constexpr std::uint32_t cost_ns = 3500;

  explicit near_records(context::context_handle const& context) noexcept : memory_(context) {}

  /// @param copy  the kernel that copies (see builtin_functions). Null: there are no copies.
  void create(CUfunction copy, CUstream memory_stream) noexcept {
    copy_ = copy;
    memory_.create(memory_stream);
  }
  void destroy() noexcept { memory_.destroy(); }

  /// Returns whether grids with so many blocks should read copies of so many records.
  [[nodiscard]] bool gains(std::uint64_t blocks, std::uint64_t records) const noexcept {
    return copy_ != nullptr && blocks >= records + min_repeated_reads;
  }
  /// Returns the memory for the copy of a piece, or 0 if there is none yet (see piece_memory).
  [[nodiscard]] CUdeviceptr of(registered_slabs::piece const& piece) noexcept {
    return memory_.of(piece, piece.bytes);
  }

  /// A kernel node that copies. The parameters are valid as long as the object exists.
  class copy_node {
   public:
    copy_node(near_records const& with, CUdeviceptr to, CUdeviceptr from,
              std::size_t bytes) noexcept;
    copy_node(copy_node const&) = delete;
    copy_node& operator=(copy_node const&) = delete;
    [[nodiscard]] CUDA_KERNEL_NODE_PARAMS const& node() const noexcept { return node_; }

   private:
    detail::memory_command what_;  // the parameter of the kernel
    void* arguments_[1]{&what_};
    CUDA_KERNEL_NODE_PARAMS node_{};
  };

 private:
  // Fewer reads over the bus than this cost less than the node.
  static constexpr std::uint64_t min_repeated_reads = 768;

  piece_memory memory_;
  CUfunction copy_ = nullptr;
};

}  // namespace flotilla::dispatch
