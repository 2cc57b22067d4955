// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies between a device and pageable memory, through pinned memory, one piece at a time.

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <flotilla/detail/memory_command.hpp>

#include "dispatch/device/batch_committer.hpp"
#include "dispatch/device/runtime_parts.hpp"

namespace flotilla::dispatch {

/// A driver call that copies pageable memory returns only after the copy. During such a call, the
/// lease would be held for about 100 ms per GiB. Instead, the copy goes piece by piece through a
/// few pinned buffers, and other work runs between two pieces.
///
/// A pass makes at most one driver call for all staged copies: it copies a piece, or it enqueues
/// the completion write of the previous piece. For the last piece of an upload, it makes both
/// calls. If new work has arrived, the staged copies skip one pass. They do not skip two passes in
/// a row, because otherwise a flood of new work would stop them.
///
/// Threads: only the holder of the device's lease, with the context current.
class staged_copies {
 public:
  // Pieces are small, because other copies from the device to host memory must wait until a piece
  // is copied.
  static constexpr std::size_t piece_bytes = std::size_t{1} << 18;
  static constexpr std::size_t pieces = 8;
  // The host copies to and from pinned memory in steps of this size, and checks after each step
  // whether another thread needs the device. A step takes some microseconds.
  static constexpr std::size_t step_bytes = std::size_t{1} << 13;
  using stop_predicate = std::function<bool()>;  // may be empty

  struct parts {
    runtime_parts const& shared;
    context::context_handle const& context;
    context::lease_gate const& gate;
    device_inbound const& inbound;
    completion_page const& page;
    lane_set& lanes;
    failure_reporter& reporter;
    batch_committer& committer;
  };
  explicit staged_copies(parts const& with) : parts_(with) {}

  /// Allocates the pinned memory of the first piece. One piece is enough for every copy, so no copy
  /// fails for lack of pinned memory. With more pieces, copies are faster.
  /// @throws driver_error
  void create();

  /// Adds a copy. The lane of the copy must already wait for the predecessors of the task.
  /// @param waits  The end marks of the predecessors. For an upload, the host waits for these marks
  /// too, because the host reads the source, which the predecessors may write.
  void add(slot_address task, detail::memory_command const& what,
           std::span<end_mark const> waits = {});
  /// Makes progress with one copy. Stops early if another thread needs the device or `stop` returns
  /// true.
  /// @return whether the next pass can continue without waiting.
  bool progress(stop_predicate const& stop);
  /// Enqueues the completion write of the latest piece, if that write is still missing. Call this
  /// before other work is put into a copy lane: otherwise the completion write would come after
  /// that work.
  /// @return whether a completion write was enqueued.
  bool write_number();
  /// Fails every copy. A copy with pieces in flight ends only when these pieces are complete.
  void fail_all(std::shared_ptr<failure const> const& why);
  [[nodiscard]] bool empty() const noexcept { return copies_.empty(); }
  void destroy() noexcept;

 private:
  struct copy {
    slot_address task;
    detail::memory_command what;
    std::size_t issued = 0;                // bytes in flight or done
    std::size_t done = 0;                  // download: bytes copied out of pinned memory
    std::shared_ptr<failure const> why{};  // set if the copy has failed
    std::vector<end_mark> waits{};         // upload: marks that are not reached yet
  };
  struct piece {
    std::byte* memory = nullptr;
    std::uint64_t number = 0;  // the completion number of the piece
    unsigned lane = 0;
    bool busy = false;
    slot_address task = no_slot;
    std::byte* to = nullptr;  // where a download goes; null for an upload
    std::size_t bytes = 0;
    std::size_t copied_out = 0;  // bytes already copied to `to`
  };

  /// Returns whether new work was announced or another thread wants the lease. The answer may be
  /// out of date.
  [[nodiscard]] bool is_device_wanted() const noexcept {
    return parts_.inbound.is_announced() || parts_.gate.wanted();
  }
  /// Copies in steps. Stops after a step if `is_device_wanted` or `stop` returns true. @return the
  /// number of bytes copied.
  [[nodiscard]] std::size_t copy_while_unwanted(std::byte* to, std::byte const* from,
                                                std::size_t bytes,
                                                stop_predicate const& stop) const;
  /// Frees the completed pieces. Copies at most one downloaded piece to its destination, or only a
  /// part of the piece. @return whether it copied anything.
  bool empty_pieces(stop_predicate const& stop);
  bool issue_piece(stop_predicate const& stop);
  /// Returns the copy that may issue the next piece, or copies_.end(). Prefers the most urgent
  /// level, then the oldest copy.
  [[nodiscard]] std::deque<copy>::iterator next_copy();
  [[nodiscard]] bool may_go_on(copy& waiting) const noexcept;
  /// Allocates the pinned memory of a piece.
  CUresult allocate(piece& one) noexcept;
  piece* free_piece();
  void fail(copy& failed, driver::call_outcome why);
  /// Ends one failed copy that has no piece in flight. @return whether it found such a copy.
  bool end_failed();

  parts const parts_;
  std::array<piece, pieces> ring_{};
  std::deque<copy> copies_;
  lane* unnumbered_ = nullptr;  // the lane whose latest piece lacks its completion write
  bool yielded_ = false;        // whether the last `progress` yielded
};

}  // namespace flotilla::dispatch
