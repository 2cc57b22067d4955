// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory for the records of chunks.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/lane/registered_memory.hpp"

namespace flotilla::dispatch {

/// Registered memory in pieces of one size, which any thread can take without a lease: a thread
/// that submits a bulk writes the records of items into a piece, and the devices read them there.
/// If any device may take the chunk, every device can read the memory. Pieces are used again, so a
/// steady state registers no memory. There are at most `max_pieces`, so a bulk of any size
/// needs little memory.
///
/// A registration takes 0.1 to 0.7 ms while a device is busy. Most programs submit no bulks, so no
/// memory is registered before a thread asks for it.
class chunk_memory {
 public:
  static constexpr std::size_t piece_bytes = std::size_t{64} << 10;
  static constexpr std::uint32_t max_pieces = 32;
  static constexpr std::uint32_t no_piece = 0xffff'ffff;

  /// @param context  The context that registers the memory, and whose NUMA node the memory prefers.
  explicit chunk_memory(context::context_handle const& context,
                        registered_memory::users of = registered_memory::users::device);
  chunk_memory(chunk_memory const&) = delete;
  chunk_memory& operator=(chunk_memory const&) = delete;

  // ---- any thread ----

  /// Returns a free piece, or no_piece.
  [[nodiscard]] std::uint32_t take() noexcept;
  /// Takes a piece back. Call it when no device reads the piece any more.
  void give_back(std::uint32_t piece) noexcept;
  /// Returns a counter that changes when pieces come back.
  [[nodiscard]] std::uint32_t returns() const noexcept {
    return returns_.load(std::memory_order_acquire);  // pairs with the release in give_back
  }
  /// Returns whether `grow` may add pieces.
  [[nodiscard]] bool may_grow() const noexcept {
    return !refused_.load(std::memory_order_relaxed) &&
           slab_count_.load(std::memory_order_relaxed) < max_slabs;
  }
  [[nodiscard]] std::byte* host(std::uint32_t piece) const noexcept {
    return slab_of(piece).host() + offset_of(piece);
  }
  [[nodiscard]] CUdeviceptr device(std::uint32_t piece) const noexcept {
    return slab_of(piece).device() + offset_of(piece);
  }

  // ---- the holder of the lease of the context, with the context current ----

  /// Registers memory for more pieces, if there is not enough already. If the driver refuses, the
  /// call adds no pieces, and so do later calls.
  /// @return the driver's status.
  CUresult grow() noexcept;
  /// Unregisters the memory. Call it when no device uses it any more.
  void unregister() noexcept;

 private:
  static constexpr std::uint32_t pieces_of_slab = 8;
  static constexpr std::uint32_t max_slabs = max_pieces / pieces_of_slab;

  [[nodiscard]] registered_memory const& slab_of(std::uint32_t piece) const noexcept {
    return *slabs_[piece / pieces_of_slab];
  }
  static std::size_t offset_of(std::uint32_t piece) noexcept {
    return piece % pieces_of_slab * piece_bytes;
  }

  context::context_handle const& context_;
  registered_memory::users const users_;
  std::array<std::unique_ptr<registered_memory>, max_slabs> slabs_;  // written by `grow`
  std::atomic<std::uint32_t> slab_count_{0};                         // written by `grow`
  std::atomic<bool> refused_{false};                                 // written by `grow`
  std::atomic<std::uint32_t> returns_{0};
  std::mutex mutex_;
  // Guarded by mutex_. The last one is used next: it is in the cache of this machine's cores.
  std::vector<std::uint32_t> free_;
};

/// The memory of each place, by the upper half of the addresses of its slots.
using chunk_memories = std::deque<chunk_memory>;

}  // namespace flotilla::dispatch
