// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words with which the blocks of an ordered twin tell each other how far they are.

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <flotilla/detail/ordered_twin.hpp>

#include "dispatch/grid/piece_memory.hpp"
#include "dispatch/lane/lane.hpp"

namespace flotilla::dispatch {

/// The device counts the words up, and nobody resets them. So this class knows the values that the
/// last grid has left, and from them which values the next grid reaches. A value is right modulo
/// 2^32, and so are comparisons, so there is nothing to do when a word wraps around. Grids
/// that run at the same time use different pieces of records, so they have different words.
///
/// Threads: only the holder of the device's lease, with the context current.
class order_words {
 public:
  /// The words that belong to a piece of records, as they are after the last launch.
  struct words {
    CUdeviceptr memory;  // detail::twin_words, with a word for each of lane::max_tasks records
    std::uint32_t next_ticket = 0;
    std::array<std::uint32_t, detail::twin_words::max_waves> waves{};
    std::array<std::uint32_t, lane::max_tasks> launches{};

    /// The address of the word of a record.
    [[nodiscard]] CUdeviceptr address(std::uint32_t record) const noexcept {
      return memory + detail::twin_words_header_bytes + record * sizeof(std::uint32_t);
    }
  };

  explicit order_words(context::context_handle const& context) noexcept : memory_(context) {}

  void create(CUstream memory_stream) noexcept { memory_.create(memory_stream); }
  void destroy() noexcept;

  /// Returns the words of a piece, or null if there are none yet (see piece_memory).
  [[nodiscard]] words* of(registered_slabs::piece const& piece) noexcept;

 private:
  static constexpr std::size_t bytes =
      detail::twin_words_header_bytes + lane::max_tasks * sizeof(std::uint32_t);

  piece_memory memory_;
  std::vector<std::unique_ptr<words>> all_;
};

}  // namespace flotilla::dispatch
