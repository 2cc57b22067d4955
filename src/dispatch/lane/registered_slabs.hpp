// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pieces of registered memory that are cut from slabs.

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/lane/registered_memory.hpp"

namespace flotilla::dispatch {

/// Registering memory takes 0.1 to 0.7 ms while a device is busy. So pieces are cut from large
/// slabs, and the first slab is registered before any task runs.
///
/// Threads: only the holder of the device's lease. If `begin` or `take` needs a new slab, the
/// context must be current.
class registered_slabs {
 public:
  /// A piece is aligned to a cache line, and its size is a power of two.
  struct piece {
    std::byte* host = nullptr;
    CUdeviceptr device = 0;
    std::size_t bytes = 0;
  };
  explicit registered_slabs(context::context_handle const& context) noexcept : context_(context) {}

  /// Registers the first slab.
  /// @throws driver_error, std::bad_alloc
  void begin();
  /// Returns a piece of at least `bytes` bytes, all zeros.
  /// @throws driver_error, std::bad_alloc
  [[nodiscard]] piece take(std::size_t bytes);
  /// Takes a piece back. Call it when no device uses the piece any more.
  void give_back(piece const& used) noexcept;
  /// Takes a piece back that work in `stream` may still read. The piece is used again after this
  /// work. Call it with the context current.
  void give_back_after(CUstream stream, piece const& used) noexcept;
  /// Unregisters all slabs. `give_back` may still be called afterwards.
  void destroy() noexcept;

  static constexpr std::size_t slab_bytes = std::size_t{1} << 20;

 private:
  struct busy_piece {
    CUstream stream;
    piece memory;
  };
  registered_memory& add_slab(std::size_t bytes);
  /// Frees the busy pieces whose streams have no work left.
  void collect() noexcept;

  context::context_handle const& context_;
  std::vector<std::unique_ptr<registered_memory>> slabs_;
  registered_memory* current_ = nullptr;  // the slab from which new pieces are cut
  std::size_t used_ = 0;                  // number of bytes that are already cut from `current_`
  std::vector<piece> free_;               // has reserved room for all pieces ever cut
  std::vector<busy_piece> busy_;          // the same
  std::size_t cut_ = 0;
};

}  // namespace flotilla::dispatch
