// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Collects items of a bulk in chunks.

#include <optional>

#include <flotilla/detail/bulk_source.hpp>

#include "dispatch/grid/chunk_limits.hpp"
#include "dispatch/submission/slot_encoding.hpp"
#include "dispatch/submission/submitter.hpp"
#include "dispatch/task/epoch_reclaimer.hpp"

namespace flotilla::dispatch {

/// Builds the chunks of one bulk, one after another. The submitting thread writes the records of a
/// chunk into a piece of the chunk_memory of the chunk's place. `close` submits the chunk. A chunk
/// of few items is not worth a grid, so its items are submitted as tasks of their own.
///
/// Threads: the thread that submits the bulk.
class chunk_builder {
 public:
  struct parts {
    device_set const& devices;
    waiter const& waits;
    usage_guard const& usage;
    submitter const& tasks;
    chunk_memories& chunks;
    chunk_limits const& limits;
    epoch_reclaimer& reclaimer;
  };
  /// @param options  The options of the bulk.
  chunk_builder(parts const& with, task_options const& options, bulk& in) noexcept
      : parts_(with), options_(options), in_(in) {}
  chunk_builder(chunk_builder const&) = delete;
  chunk_builder& operator=(chunk_builder const&) = delete;
  ~chunk_builder() { drop(); }

  /// Begins a chunk, if that is possible and worthwhile. No chunk must be open. The launches must
  /// be valid.
  /// @param grid   The grid of the first launch.
  /// @param to     The place of the launches.
  /// @param first  The index of the first item. The items before it must be submitted.
  /// @return false if the next items must be submitted one by one, as many as `alone` says.
  /// Blocks  until memory is free, for up to 2 ms.
  /// @throws the exceptions of usage_guard::check_usable
  [[nodiscard]] bool begin(chunk_form const& form, extent const& grid, place const& to,
                           std::size_t first);
  /// Returns how many of the next items should be submitted one by one, according to the last call
  /// of `begin` or `close`.
  [[nodiscard]] std::size_t alone() const noexcept { return alone_; }

  // ---- while a chunk is open ----

  [[nodiscard]] bool is_open() const noexcept { return to_ != nullptr; }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  /// Returns whether the launch can be the next item of the chunk.
  [[nodiscard]] bool fits(chunk_form const& form, extent const& grid,
                          place const& to) const noexcept;
  /// Adds a launch that fits.
  void add(extent const& grid, void const* arguments) noexcept;
  /// Returns the memory for the records of the whole chunk, and their number.
  [[nodiscard]] detail::chunk_room room() const noexcept { return {records_, max_.items}; }
  /// Adds items whose records the caller has written into the empty chunk. Each has the grid of the
  /// first.
  void add_written(std::size_t items) noexcept;
  /// Submits the items. Afterwards no chunk is open, even if this function throws. Does nothing if
  /// no chunk is open.
  /// @param submitted  Increases by the number of items that were submitted.
  /// @throws the exceptions of submitter::submit
  void close(std::size_t& submitted);

 private:
  class piece_wait;
  [[nodiscard]] std::uint32_t take_piece(place const& from);
  [[nodiscard]] bool grow(place const& from, chunk_memory& memory) const;
  /// Returns how large a chunk with this launch should be. @param left  The number of items left.
  [[nodiscard]] chunk_limits::limit limit_of(chunk_form const& form, extent const& grid,
                                             place const& to, std::size_t left) const noexcept;
  void submit(std::size_t& submitted);
  /// Writes the index of each block's item behind the records.
  void write_table() noexcept;
  /// Gives up the items of the open chunk.
  void drop() noexcept;
  [[nodiscard]] chunk_memory& memory_of(place const& place) const noexcept {
    return parts_.chunks[place.index];
  }

  parts const parts_;
  task_options const& options_;
  bulk& in_;
  std::size_t alone_ = 0;
  // The open chunk:
  place const* to_ = nullptr;  // null: no chunk is open
  chunk_form form_;
  extent grid_;  // of the first item
  // Keeps the buffers of the items, which the program may destroy before the chunk is submitted.
  std::optional<epoch_reclaimer::pin> pin_;
  std::uint32_t piece_ = chunk_memory::no_piece;
  std::byte* records_ = nullptr;
  std::size_t first_ = 0;
  chunk_limits::limit max_;
  std::uint32_t count_ = 0;
  std::uint32_t blocks_ = 0;
  std::uint32_t blocks_each_ = 0;  // 0: the items differ
};

}  // namespace flotilla::dispatch
