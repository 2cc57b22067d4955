#pragma once
/// Recomputes every digest on the host with libcrypto.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "block_batch.hpp"

namespace block_digest {

/// Threads that compare the digests of batches with their own, so that verifying keeps up with the
/// devices.
///
/// Threads: one thread calls add(), take_verified() and wait().
class verifier {
 public:
  /// @param threads  A count, at least 1.
  explicit verifier(unsigned threads);
  /// Drops batches that no thread has started to verify.
  ~verifier();
  verifier(verifier const&) = delete;
  verifier& operator=(verifier const&) = delete;

  /// Has the batch verified: `block_batch::mismatches` then has the blocks whose digests differ. A
  /// batch with an error is passed through.
  void add(block_batch& batch);
  /// A batch that was verified; null if there is none.
  [[nodiscard]] block_batch* take_verified();
  /// Waits until take_verified() has a batch. There must be one that was added and not taken.
  void wait();

 private:
  void work();

  std::mutex mutex_;  // guards everything except threads_
  std::condition_variable added_;
  std::condition_variable verified_;
  std::deque<block_batch*> to_verify_;
  std::deque<block_batch*> ready_;
  bool stop_ = false;
  std::vector<std::jthread> threads_;  // last: destroyed before the members that they use
};

}  // namespace block_digest
