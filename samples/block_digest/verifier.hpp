// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The verifier: it computes every digest again on the host with libcrypto.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "block_batch.hpp"

namespace block_digest {

/// Compares the digests of the devices with digests that the host computes. It uses several
/// threads, because one thread would be slower than the devices.
///
/// Threads: only one thread may call add(), take_verified() and wait().
class verifier {
 public:
  /// @param threads  The number of threads, at least 1.
  explicit verifier(unsigned threads);
  /// Stops the threads. They finish the batches that they are verifying, and start no others.
  ~verifier();
  verifier(verifier const&) = delete;
  verifier& operator=(verifier const&) = delete;

  /// Adds a batch to verify. Afterwards, `block_batch::mismatches` has the indices of the blocks
  /// whose digests differ. A batch with an error is not verified, but take_verified() returns it.
  void add(block_batch& batch);
  /// Removes and returns a verified batch, or returns null if there is none.
  [[nodiscard]] block_batch* take_verified();
  /// Waits until take_verified() can return a batch. At least one batch must have been added and
  /// not yet taken.
  void wait();

 private:
  void work();

  std::mutex mutex_;  // guards everything except threads_
  std::condition_variable added_;
  std::condition_variable verified_;
  std::deque<block_batch*> to_verify_;
  std::deque<block_batch*> ready_;
  bool stop_ = false;
  std::vector<std::jthread> threads_;  // the last member: the threads use the members above
};

}  // namespace block_digest
