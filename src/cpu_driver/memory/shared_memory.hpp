// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Physical memory of a CPU device that processes can share, as cuMemCreate makes it. The memory is
// a sealed memfd. Any process that has its descriptor can map it.

#include <cuda.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>

namespace flotilla::cpu_driver {

class memory_account;

/// Sizes and addresses of mappings are multiples of this many bytes. It is a multiple of the page
/// size of every supported machine.
inline constexpr std::size_t shared_memory_granularity = 65536;

/// Threads: any.
class shared_memory {
 public:
  struct block {
    int descriptor = -1;
    std::size_t bytes = 0;
    memory_account* account = nullptr;  // of the device; null for imported memory
  };

  /// Never destroyed, because threads may use it until the process ends.
  [[nodiscard]] static shared_memory& of_process();

  /// Makes memory of `account`. Returns CUDA_ERROR_OUT_OF_MEMORY if it does not fit.
  [[nodiscard]] CUresult create(CUmemGenericAllocationHandle& made, std::size_t bytes,
                                memory_account& account);
  /// Takes a copy of the descriptor. Returns CUDA_ERROR_INVALID_VALUE if it is none of a block.
  [[nodiscard]] CUresult import(CUmemGenericAllocationHandle& made, int descriptor);
  [[nodiscard]] std::optional<block> find(CUmemGenericAllocationHandle handle) const;
  /// Returns false if there is no such block. Mappings stay as they are.
  [[nodiscard]] bool release(CUmemGenericAllocationHandle handle);

 private:
  [[nodiscard]] CUmemGenericAllocationHandle add(block const& made);

  std::mutex mutable mutex_;
  std::map<CUmemGenericAllocationHandle, block> blocks_;  // guarded by mutex_
  CUmemGenericAllocationHandle next_ = 1;                 // guarded by mutex_
};

}  // namespace flotilla::cpu_driver
