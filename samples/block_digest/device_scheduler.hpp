#pragma once
/// Gives batches to all devices and takes them back.

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "block_batch.hpp"
#include "throughput.hpp"

namespace block_digest {

/// Keeps every device busy, and gives a faster device more to do. An idle device gets the next
/// batch; if none is idle, the device that will probably finish it first gets it.
///
/// Threads: one. Lifetime: must end before its runtime does.
class device_scheduler {
 public:
  /// @param corrupt  Flips the bits of one byte on a device, to prove that the check finds it.
  device_scheduler(flotilla::runtime& rt, std::size_t block_bytes, bool corrupt);

  /// An empty batch of the device that should get the next blocks; null if it is better to wait for
  /// a batch that is in use.
  /// @throws flotilla::driver_error  A device has no memory for even one batch.
  [[nodiscard]] block_batch* pick();

  /// Submits a copy of the contents, one task for each range, and a copy of the digests back.
  void submit(block_batch& batch);

  /// A submitted batch that has finished, or null. Its error is set if something went wrong.
  /// @throws flotilla::poisoned  A kernel faulted: this process cannot use the devices any more.
  [[nodiscard]] block_batch* take_finished();

  /// Waits briefly for some submitted batch. @return false if none is submitted.
  bool wait_for_one();

  /// Empties a batch, so that pick() can return it again.
  void release(block_batch& batch);

 private:
  struct device_state {
    flotilla::device const* device;
    std::size_t max_batches;
    throughput speed{};
    std::vector<std::unique_ptr<block_batch>> batches{};
    std::vector<block_batch*> empty{};
    std::vector<block_batch*> submitted{};  // oldest first

    [[nodiscard]] bool has_free_batch() const {
      return !empty.empty() || batches.size() < max_batches;
    }
  };
  [[nodiscard]] block_batch* take_empty(device_state& state);

  flotilla::runtime& runtime_;
  batch_capacity capacity_;
  flotilla::kernel<std::byte const*, std::uint64_t, std::uint64_t, std::uint64_t, digest*> sha256_;
  bool corrupt_next_;
  std::vector<device_state> devices_;
};

}  // namespace block_digest
