// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies between a device and pageable memory, through pinned memory, one piece at a time.

#include <cuda.h>

#include <array>
#include <atomic>
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
#include "dispatch/device/shared_copy.hpp"

namespace flotilla::dispatch {

/// A driver call that copies pageable memory returns only after the copy. During such a call, the
/// lease would be held for about 100 ms per GiB. Instead, the copy goes piece by piece through a
/// few pinned buffers, and other work runs between two pieces.
///
/// The host's copy of each piece is a shared_copy, in which threads with nothing to do take part.
/// The holder of the lease does not wait for them: when all steps of a piece are claimed, it begins
/// the next piece. So a thread that the system interrupts during a step delays one piece.
///
/// A pass makes at most one driver call for all staged copies: it enqueues the copy of a piece, or
/// the completion write of the previous piece. For the last piece of an upload, it makes both
/// calls. If new work has arrived, the staged copies skip one pass. They do not skip two passes in
/// a row, because otherwise a flood of new work would stop them.
///
/// Threads: only the holder of the device's lease, with the context current, except `share`.
class staged_copies {
 public:
  // Pieces are small, because other copies from the device to host memory must wait until a piece
  // is copied.
  static constexpr std::size_t piece_bytes = std::size_t{1} << 18;
  static constexpr std::size_t pieces = 8;
  // A larger copy asks for threads that take part. Starting one takes some microseconds.
  static constexpr std::size_t min_bytes_for_helpers = std::size_t{1} << 20;
  // A destination of this size would not stay in the caches until the program reads it.
  static constexpr std::size_t min_streamed_bytes = std::size_t{64} << 20;
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

  /// Adds a copy. If the copy is pitched, the rows in the memory of the device must be adjacent.
  /// @param waits  The end marks of the predecessors. The host waits for these marks, not the
  /// stream: otherwise copies that are ready would wait behind one that is not. An upload needs
  /// this in any case, because the host reads the source, which the predecessors may write.
  void add(slot_address task, detail::memory_command const& what, std::span<end_mark const> waits);
  /// Makes progress with one copy. Stops early if another thread needs the device or `stop` returns
  /// true.
  /// @return whether the next pass can continue without waiting.
  bool progress(stop_predicate const& stop);
  /// Fails every copy. A copy with pieces in flight ends only when these pieces are complete.
  void fail_all(std::shared_ptr<failure const> const& why);
  /// Gives up every copy, and appends the tasks to `tasks`. Call it after the streams were emptied,
  /// and before the numbers of the lanes are raised. A copy that has failed ends.
  void give_up_all(std::vector<slot_address>& tasks);
  [[nodiscard]] bool empty() const noexcept { return copies_.empty(); }
  void destroy() noexcept;

  /// Takes part in the host's copy of a piece, if there is one, until nothing is left to claim or
  /// `stop` returns true. Threads: any; needs no lease and no context. Cost: three loads if there
  /// is nothing to copy. @return whether it copied anything.
  bool share(stop_predicate const& stop) noexcept;

 private:
  /// Enqueues the completion write of the latest piece, if that write is still missing.
  /// @return whether a completion write was enqueued.
  bool write_number();
  struct copy {
    slot_address task;
    detail::memory_command what;
    std::size_t begun = 0;                 // bytes for which a piece was taken
    std::size_t issued = 0;                // bytes in flight or done
    std::size_t done = 0;                  // download: bytes copied out of pinned memory
    std::shared_ptr<failure const> why{};  // set if the copy has failed
    std::vector<end_mark> waits{};         // marks that are not reached yet
  };
  struct piece {
    enum class states {
      free,
      host,    // the host copies to it (upload) or from it (download)
      device,  // the device does
    };
    states state = states::free;
    std::byte* memory = nullptr;
    std::uint64_t number = 0;  // the completion number of the device's copy
    unsigned lane = 0;
    slot_address task = no_slot;
    bool is_download = false;  // if false, another task may have got the slot of `task`
    std::size_t at = 0;        // the first byte of the copy that is in this piece
    std::size_t bytes = 0;
    shared_copy on_host;
  };

  /// Begins the host's copy of a piece, and takes part in it. All steps of earlier pieces must be
  /// claimed.
  void begin(piece& one, detail::memory_command const& what, stop_predicate const& stop);
  /// Takes part in the host's copy that was begun last, if it has steps that nobody has claimed.
  /// @return whether it had any.
  bool continue_on_host(stop_predicate const& stop);
  /// Enqueues or frees a piece whose copy on the host is finished. @return whether there was one.
  bool finish_on_host();
  /// Frees the completed pieces of uploads and of failed copies. Begins the host's copy of one
  /// downloaded piece. @return whether it began one.
  bool begin_emptying(stop_predicate const& stop);
  void note_emptied(piece& one);
  /// Begins the host's copy of the next piece of an upload, or enqueues the next piece of a
  /// download. @return whether there was such a piece, and room for it.
  bool begin_next(stop_predicate const& stop);
  /// Enqueues the device's copy of the piece. The lane must have room.
  void issue(copy& owner, piece& one);
  [[nodiscard]] lane& lane_of(copy const& of) noexcept;
  /// Returns the copy of the task, or copies_.end().
  [[nodiscard]] std::deque<copy>::iterator find(slot_address task);
  /// Returns the copy that may issue the next piece, or copies_.end(). Of the copies that are
  /// ready, prefers the most urgent level, then the oldest copy.
  [[nodiscard]] std::deque<copy>::iterator next_copy();
  [[nodiscard]] bool is_ready(copy& waiting) const noexcept;
  /// Allocates the pinned memory of a piece.
  CUresult allocate(piece& one) noexcept;
  piece* free_piece();
  void fail(copy& failed, driver::call_outcome why);
  /// Ends one failed copy that has no piece in flight. @return whether it found such a copy.
  bool end_failed();

  parts const parts_;
  std::array<piece, pieces> ring_{};
  std::deque<copy> copies_;
  // The index of the piece whose copy on the host was begun last. Only its steps can be unclaimed.
  std::atomic<std::size_t> begun_last_{0};
  lane* unnumbered_ = nullptr;  // the lane whose latest piece lacks its completion write
  bool yielded_ = false;        // whether the last `progress` yielded
};

}  // namespace flotilla::dispatch
