// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of one isolated device. This process makes it, without a context, and the workers map
// it, so it stays when a worker ends.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "driver/table.hpp"
#include "isolation/channel/sealed_memory.hpp"
#include "isolation/memory/address_space.hpp"

namespace flotilla::isolated {

/// Not thread-safe: call it with the lock of the device.
///
/// The driver makes memory in blocks of its granularity, which is 2 MiB on a GPU. Allocations of
/// more than half of it get a block of their own. Smaller ones share blocks, by powers of two.
class device_memory {
 public:
  struct block {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    CUmemGenericAllocationHandle handle = 0;
    std::size_t piece_bytes = 0;      // 0: one allocation has the whole block
    std::vector<std::uint32_t> free;  // the indices of free pieces
    std::size_t used = 0;             // the number of pieces in use
  };
  struct allocation {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    std::uint32_t context = 0;  // the object of the context that asked for it
    std::uint64_t id = 0;
  };

  device_memory(driver::table const& base, int ordinal) noexcept;

  /// Allocates from blocks that exist. Returns nothing if `make_block` must be called first.
  [[nodiscard]] std::optional<CUdeviceptr> take(std::size_t bytes, std::uint32_t context);
  /// Makes a block that fits `bytes`, which nobody has mapped yet.
  [[nodiscard]] CUresult make_block(std::size_t bytes, CUdeviceptr& made);
  /// Frees an allocation. If its block is empty then, `emptied` gets the address of the block.
  /// @return false  No allocation starts at the address.
  [[nodiscard]] bool free(CUdeviceptr address, std::optional<CUdeviceptr>& emptied);
  /// Gives an empty block back to the driver. `is_mapped` says that the worker has it mapped still,
  /// because its driver has refused to unmap it. Then nothing else gets its addresses.
  void release_block(CUdeviceptr address, bool is_mapped) noexcept;
  /// Call it when another worker serves, which has mapped none of these blocks.
  void reuse_abandoned() noexcept;

  /// Returns memory that nobody uses and that is never freed, for workers that map it later. 0:
  /// there is none.
  [[nodiscard]] CUdeviceptr placeholder();

  /// Makes the descriptor with which another process can map the block.
  [[nodiscard]] CUresult share(block const& what, descriptor& made) const;
  [[nodiscard]] std::map<CUdeviceptr, block> const& blocks() const noexcept { return blocks_; }
  [[nodiscard]] block const* block_at(CUdeviceptr address) const;
  /// Finds the allocation that contains the address.
  [[nodiscard]] std::optional<allocation> find(CUdeviceptr address) const;
  /// The first allocation of the context behind an address.
  [[nodiscard]] std::optional<CUdeviceptr> next_of(std::uint32_t context,
                                                   CUdeviceptr after) const noexcept;
  /// The bytes of all blocks.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Changes with each change of the blocks.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

 private:
  [[nodiscard]] std::size_t piece_of(std::size_t bytes) const noexcept;
  [[nodiscard]] CUmemAllocationProp properties() const noexcept;

  driver::table const& base_;
  int ordinal_;
  std::size_t granularity_;
  address_space addresses_;
  std::map<CUdeviceptr, block> blocks_;            // by address
  std::map<CUdeviceptr, block> abandoned_;         // by address; released, but mapped
  std::map<CUdeviceptr, allocation> allocations_;  // by address
  std::size_t bytes_ = 0;
  std::uint64_t version_ = 0;
  CUdeviceptr placeholder_ = 0;
};

}  // namespace flotilla::isolated
