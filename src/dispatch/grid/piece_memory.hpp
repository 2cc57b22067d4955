// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of the device that belongs to pieces of records.

#include <cuda.h>

#include <cstddef>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/lane/registered_slabs.hpp"

namespace flotilla::dispatch {

/// Allocates and clears the memory in a stream without tasks. A kernel that occupies the device may
/// wait for the calling thread, so this class waits for the device only for a short time. On a busy
/// device, a piece has no memory at first.
///
/// Threads: only the holder of the device's lease, with the context current.
class piece_memory {
 public:
  explicit piece_memory(context::context_handle const& context) noexcept : context_(context) {}

  void create(CUstream memory_stream) noexcept { memory_stream_ = memory_stream; }
  void destroy() noexcept;

  /// Returns the memory of a piece, or 0 if it is not ready yet or cannot be allocated. It belongs
  /// to the piece until `destroy`. The first call for a piece allocates it, with zeros.
  /// @param bytes  The same in all calls for a piece.
  [[nodiscard]] CUdeviceptr of(registered_slabs::piece const& piece, std::size_t bytes) noexcept;

 private:
  struct memory {
    std::byte const* host;  // of the piece
    CUdeviceptr address;
    bool is_ready;  // the device has cleared it
  };
  /// Starts to allocate memory. @return 0 if the driver refuses
  [[nodiscard]] CUdeviceptr allocate(std::size_t bytes) const noexcept;
  /// Whether the device has cleared all memory.
  [[nodiscard]] bool is_idle() const noexcept;

  context::context_handle const& context_;
  CUstream memory_stream_ = nullptr;
  std::vector<memory> all_;
};

}  // namespace flotilla::dispatch
