// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which thread uses the transport.

#include <atomic>
#include <mutex>
#include <thread>

#include <flotilla/error/error.hpp>

namespace flotilla::cluster_ranks {

/// A mutex that one thread can hold for a while, so that the application uses MPI meanwhile. A
/// Lockable: std::lock_guard locks it. Threads: any.
class transport_lease {
 public:
  void lock() { mutex_.lock(); }
  /// Returns false also if the calling thread excludes the others.
  [[nodiscard]] bool try_lock() { return !is_excluding() && mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

  /// Keeps all threads from locking it until `include`.
  /// @throws would_deadlock  This thread does so already.
  void exclude() {
    if (is_excluding()) {
      throw would_deadlock("cluster::exclusive was called inside cluster::exclusive");
    }
    mutex_.lock();
    excluding_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  void include() noexcept {
    excluding_.store(std::thread::id{}, std::memory_order_relaxed);
    mutex_.unlock();
  }
  /// Returns whether the calling thread is between `exclude` and `include`.
  [[nodiscard]] bool is_excluding() const noexcept {
    return excluding_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> excluding_{};
};

}  // namespace flotilla::cluster_ranks
