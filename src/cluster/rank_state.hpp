// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a cluster cannot go on.

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include <flotilla/error/error.hpp>

#include "dispatch/task/failure.hpp"

namespace flotilla::cluster_ranks {

[[nodiscard]] inline std::string name_of(int rank) { return "rank " + std::to_string(rank); }

/// The first failure of a rank that this rank has noticed. Threads: any.
class rank_state {
 public:
  /// @param rank  Who has failed, or who has noticed that the ranks cannot go on.
  void fail(int rank, std::string const& why) noexcept {
    try {
      std::lock_guard const lock{mutex_};
      if (why_ == nullptr) {
        why_ = dispatch::make_spreading_failure(std::make_exception_ptr(rank_failed(rank, why)));
      }
    } catch (std::bad_alloc const&) { return; }  // whoever has called this will notice it again
    has_failed_.store(true, std::memory_order_release);
  }
  /// Returns why all transfers fail; null if they do not.
  [[nodiscard]] std::shared_ptr<dispatch::failure const> why() const {
    std::lock_guard const lock{mutex_};
    return why_;
  }
  [[nodiscard]] bool has_failed() const noexcept {
    return has_failed_.load(std::memory_order_acquire);
  }
  /// @throws rank_failed
  void check() const {
    if (has_failed()) [[unlikely]] { std::rethrow_exception(why()->error); }
  }

 private:
  std::mutex mutable mutex_;
  std::shared_ptr<dispatch::failure const> why_;  // guarded by mutex_
  std::atomic<bool> has_failed_{false};
};

}  // namespace flotilla::cluster_ranks
