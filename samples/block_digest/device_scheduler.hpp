// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Distributes batches to the devices.

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "block_batch.hpp"
#include "throughput.hpp"

namespace block_digest {

/// Keeps every device busy and gives more work to faster devices. An idle device gets the next
/// batch. If no device is idle, the batch goes to the device that will probably finish it first.
///
/// Threads: one. Lifetime: must end before its runtime does.
class device_scheduler {
 public:
  /// @param corrupt  Whether to invert one byte of the first batch in device memory. If true, the
  ///                 verifier must report a wrong digest.
  device_scheduler(flotilla::runtime& rt, std::size_t block_bytes, bool corrupt);

  /// Returns an empty batch of the device that should get the next blocks. Returns null if it is
  /// better to wait for a batch that is in use.
  /// @throws flotilla::driver_error  A device has too little memory for one batch.
  [[nodiscard]] block_batch* pick();

  /// Submits a copy of the contents to the device, one launch for each range, and a copy of the
  /// digests to the host.
  void submit(block_batch& batch);

  /// Removes and returns a submitted batch that has finished, or returns null if there is none. If
  /// the batch failed, its member `error` has the reason.
  /// @throws flotilla::poisoned  A kernel faulted, and this process cannot use the devices any
  ///                             more.
  [[nodiscard]] block_batch* take_finished();

  /// Waits briefly until a submitted batch has finished. @return False if no batch is submitted.
  bool wait_for_one();

  /// Empties a batch, so that pick() can return the batch again.
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
