#pragma once
/// All devices at work: gives trays to them and takes them back.

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "pace.hpp"
#include "tray.hpp"

namespace block_digest {

/// Keeps every device busy, and gives a faster one more to do: no device goes idle while there is
/// work, and beyond that a tray goes to whichever device is expected to be through with it first.
///
/// Threads: one. Lifetime: must end before its runtime does.
class fleet {
 public:
  /// @param corrupt  Flips the bits of one byte on a device, to prove that it is noticed.
  fleet(flotilla::runtime& rt, std::size_t block_bytes, bool corrupt);

  /// An empty tray of the device that should have the next blocks; null when it is better to wait
  /// for one that is in use.
  /// @throws flotilla::driver_error  A device has no memory for even one tray.
  [[nodiscard]] tray* pick();

  /// Submits a copy of what the tray holds, a task for each run, and a copy of the digests back.
  void send(tray& full);

  /// A tray that was sent and is back, or null; its error is set if something went wrong.
  /// @throws flotilla::poisoned  A kernel faulted: nothing more can be done in this process.
  [[nodiscard]] tray* take_returned();

  /// Waits a moment for some tray that was sent. @return whether there was one to wait for.
  bool wait_for_one();

  /// Makes a tray empty, to be picked again.
  void release(tray& done);

 private:
  struct member {
    flotilla::device const* device;
    std::size_t most_trays;
    pace speed{};
    std::vector<std::unique_ptr<tray>> trays{};
    std::vector<tray*> empty{};
    std::vector<tray*> sent{};  // in this order

    [[nodiscard]] bool has_room() const { return !empty.empty() || trays.size() < most_trays; }
  };
  [[nodiscard]] tray* take_empty(member& from);

  flotilla::runtime& runtime_;
  tray_shape shape_;
  flotilla::kernel<std::byte const*, std::uint64_t, std::uint64_t, std::uint64_t, digest*> sha256_;
  bool corrupt_next_;
  std::vector<member> members_;
};

}  // namespace block_digest
