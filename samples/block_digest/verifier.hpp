#pragma once
/// Recomputes every digest on the host, with libcrypto.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "tray.hpp"

namespace block_digest {

/// Threads that compare the digests in trays with their own: checking keeps up with the devices.
///
/// Threads: one that gives and takes.
class verifier {
 public:
  /// @param threads  A count, at least 1.
  explicit verifier(unsigned threads);
  /// Leaves trays that nobody has looked at yet as they are.
  ~verifier();
  verifier(verifier const&) = delete;
  verifier& operator=(verifier const&) = delete;

  /// Has `returned` checked: `tray::wrong` says afterwards which blocks differ. One with an error
  /// is passed through.
  void give(tray& returned);
  /// A tray that was checked; null if there is none.
  [[nodiscard]] tray* take();
  /// Waits until take() has something. Something must have been given that was not taken.
  void wait();

 private:
  void work();

  std::mutex mutex_;  // guards all but threads_
  std::condition_variable given_;
  std::condition_variable checked_;
  std::deque<tray*> to_check_;
  std::deque<tray*> ready_;
  bool stop_ = false;
  std::vector<std::jthread> threads_;  // last: they end before what they use
};

}  // namespace block_digest
