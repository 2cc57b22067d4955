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

/// A driver call that copies pageable memory returns after the copy, and the lease would be held
/// all that time: 1 GiB takes some 100 ms. Instead, in each pass the holder copies one piece into
/// or out of a ring of pinned memory. Each pass issues one driver call of a staged copy: the copy
/// of the piece, or the completion write after it (the last piece of an upload: both). Other work
/// runs between pieces. A copy yields once to newly arrived work, but not twice in a row: otherwise
/// it would never move on in a flood.
///
/// Only the holder of the device's lease, with the context current.
class staged_copies {
 public:
  // Small, because other writes of the device to host memory wait behind a piece.
  static constexpr std::size_t piece_bytes = std::size_t{1} << 18;
  static constexpr std::size_t pieces = 8;
  // The host copies this much, for some microseconds, before it looks whether another thread needs
  // the device.
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

  /// Adds a copy whose lane waits for its predecessors already.
  /// @param waits  The marks of those predecessors. The host reads the bytes of an upload, so it
  /// waits for the marks too.
  void add(slot_address task, detail::memory_command const& what,
           std::span<end_mark const> waits = {});
  /// Moves one copy on by a step. Stops early if a thread needs the device or if `stop` says so.
  /// @return whether an immediate further pass can do more.
  bool progress(stop_predicate const& stop);
  /// Writes the number of the latest piece, if it is not written yet. Call it before anything else
  /// is put into that lane, because otherwise the number would come after that. @return whether a
  /// number was written.
  bool write_number();
  /// Fails every copy. A copy with pieces in flight ends after them.
  void fail_all(std::shared_ptr<failure const> const& why);
  [[nodiscard]] bool empty() const noexcept { return copies_.empty(); }
  void destroy() noexcept;

 private:
  struct copy {
    slot_address task;
    detail::memory_command what;
    std::size_t issued = 0;                // bytes in flight or done
    std::size_t done = 0;                  // of a download: bytes that were copied out of the ring
    std::shared_ptr<failure const> why{};  // it failed, and ends when no piece of it is in flight
    std::vector<end_mark> waits{};         // of an upload: the marks that were not reached yet
  };
  struct piece {
    std::byte* memory = nullptr;
    std::uint64_t number = 0;  // its lane writes it when the piece is done
    unsigned lane = 0;
    bool busy = false;
    slot_address task = no_slot;
    std::byte* to = nullptr;  // of a download: where its bytes go; else null
    std::size_t bytes = 0;
    std::size_t copied_out = 0;  // bytes of a download that were copied out
  };

  /// Whether the holder of the lease should look for other work, or release the lease. A hint.
  [[nodiscard]] bool is_device_wanted() const noexcept {
    return parts_.inbound.is_announced() || parts_.gate.wanted();
  }
  /// Copies all bytes, or stops early if the device is wanted, after at least a step. @return the
  /// bytes copied.
  [[nodiscard]] std::size_t copy_while_unwanted(std::byte* to, std::byte const* from,
                                                std::size_t bytes,
                                                stop_predicate const& stop) const;
  /// Frees pieces that are done. Copies out at most one piece of a download, or a part of it.
  bool empty_pieces(stop_predicate const& stop);
  bool issue_piece(stop_predicate const& stop);
  /// The first of the most urgent copies that can go on.
  [[nodiscard]] std::deque<copy>::iterator next_copy();
  [[nodiscard]] bool may_go_on(copy& waiting) const noexcept;
  piece* free_piece();
  void fail(copy& failed, driver::call_outcome why);
  /// Ends one failed copy that has no piece in flight. @return whether there was one.
  bool end_failed();

  parts const parts_;
  std::array<piece, pieces> ring_{};
  std::deque<copy> copies_;
  lane* unnumbered_ = nullptr;  // it got a piece, but was not told to write the number yet
  bool yielded_ = false;        // in the last step
};

}  // namespace flotilla::dispatch
