#pragma once
// Copies between a device and pageable memory, through pinned memory, a piece at a time.

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <flotilla/transfer.hpp>

#include "dispatch/failure.hpp"
#include "dispatch/slot.hpp"

namespace flotilla::dispatch {

class device_queue;
class lane;

/// A driver call that copies pageable memory copies it before it returns, and would hold the lease for all
/// of it: 1 GiB is some 100 ms. Here the holder copies a piece into, or out of, a ring of pinned memory
/// in each pass, and drains in between: the copy of a piece is one call of the driver and its number the next (but for the
/// last piece of a copy up), and between them passes whoever needs the device. Who needs it as a copy is due goes before that; not before the next one, too, or in
/// a flood nothing would be copied.
///
/// Only the holder of the device's lease, its context current.
class staging {
 public:
  /// Small: what the device writes to host memory for others waits behind a piece that is on its way there.
  static constexpr std::size_t piece_bytes = std::size_t{1} << 18;
  static constexpr std::size_t pieces = 8;
  /// What the host copies before it looks whether somebody needs the device: some microseconds.
  static constexpr std::size_t step_bytes = std::size_t{1} << 13;

  explicit staging(device_queue& queue) noexcept : queue_(queue) {}

  /// Takes a copy whose predecessors its lane already waits for. `behind` are those predecessors: bytes that go up
  /// are read by the host, which has to wait for them by itself.
  void add(slot_address task, transfer const& what, std::vector<end_mark> behind = {}) {
    copies_.push_back({task, what, 0, 0, nullptr, std::move(behind)});
  }
  /// Moves one copy on by a step: a piece copied by the host, or less once somebody needs the device or `stop` says so,
  /// which is asked where there is one; or a piece put on its way; or its number behind it. @return whether there is
  /// more that a pass at once can do.
  bool progress(std::function<bool()> const& stop);
  /// The number of the piece that went out last, if that is still to come: before anything else is put on that lane, or the
  /// number would come behind it. @return whether it was.
  bool number_issued();
  /// Every copy fails. What is under way goes on, and then they end.
  void fail_all(std::shared_ptr<failure const> const& why);
  [[nodiscard]] bool empty() const noexcept { return copies_.empty(); }
  void destroy() noexcept;

 private:
  struct copy {
    slot_address task;
    transfer what;
    std::size_t issued;  // bytes that are on their way or done
    std::size_t done;    // bytes that have come out of the ring
    std::shared_ptr<failure const> why{};  // it failed: ends when no piece of it is under way
    std::vector<end_mark> behind{};        // of a copy up: emptied when they have all passed
  };
  struct piece {
    std::byte* memory = nullptr;
    std::uint64_t number = 0;     // of its lane: when it is seen, the piece is through
    unsigned lane = 0;
    bool busy = false;
    slot_address task = no_slot;
    std::byte* to = nullptr;      // of a copy down: where its bytes are to be copied out to
    std::size_t bytes = 0;
    std::size_t copied_out = 0;   // of those
  };

  [[nodiscard]] std::size_t copy_while_unwanted(std::byte* to, std::byte const* from, std::size_t bytes,
                                                std::function<bool()> const& stop) const;
  bool empty_pieces(std::function<bool()> const& stop);
  bool issue_piece(std::function<bool()> const& stop);
  [[nodiscard]] bool may_go_on(copy& what) const noexcept;
  [[nodiscard]] urgency level_of(copy const& of) const noexcept;
  piece* free_piece();
  void fail(copy& what, CUresult status, char const* call);
  bool end_failed();

  device_queue& queue_;
  std::array<piece, pieces> ring_{};
  std::deque<copy> copies_;
  lane* unnumbered_ = nullptr;  // has been given a piece of a copy that is here, and not told yet to write its number
  bool was_put_off_ = false;    // the last step
};

}  // namespace flotilla::dispatch
