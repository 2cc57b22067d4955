// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a task failed. A failure is kept until no ticket and no task can ask for it.

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

/// Silences false reports of ThreadSanitizer. libstdc++ counts the references to an exception in
/// code that TSan does not see. So TSan reports a race when the last owner frees an exception that
/// other threads have read. A thread that has handed an exception to user code increments this
/// counter afterwards, and a thread that frees a failure reads this counter first. TSan sees these
/// two accesses and the order between them.
inline std::atomic<std::uint32_t> exception_releases{0};

struct failure {
  std::exception_ptr error;  // the exception that `wait` throws
  std::string text;          // for messages: the exception, and maybe the task that has thrown it
  // The failure of the predecessor if the task did not run, or passed its error on. Otherwise null.
  std::shared_ptr<failure const> cause;
  // The length of the chain of causes. It is bounded: a chain is freed by recursion.
  unsigned depth = 0;
  // Tasks that depend on the failed one fail with the same error, because nothing can heal it.
  bool spreads = false;
  static constexpr unsigned max_depth = 64;
  // acquire: pairs with the release by a thread that has handed an exception to user code
  ~failure() { static_cast<void>(exception_releases.load(std::memory_order_acquire)); }

  /// Returns whether the error is an `Error`.
  template <class Error>
  [[nodiscard]] bool is_a() const noexcept {
    try {
      std::rethrow_exception(error);
    } catch (Error const&) { return true; } catch (...) {
      return false;
    }
  }
  /// Returns the first failure in the chain of causes.
  [[nodiscard]] failure const& first_cause() const noexcept {
    failure const* first = this;
    while (first->cause != nullptr) { first = first->cause.get(); }
    return *first;
  }
  /// The same as `first_cause`, for a failure that has a cause.
  [[nodiscard]] std::shared_ptr<failure const> shared_first_cause() const noexcept {
    std::shared_ptr<failure const> first = cause;
    while (first->cause != nullptr) { first = first->cause; }
    return first;
  }
};

[[nodiscard]] std::shared_ptr<failure const> make_failure(
    std::exception_ptr error, std::shared_ptr<failure const> cause = nullptr);
/// Returns the failure of a task whose function has thrown `error`. Its text begins with the task.
/// @param task  The task in words.
[[nodiscard]] std::shared_ptr<failure const> make_failure_of(std::string const& task,
                                                             std::exception_ptr error);
/// Returns a failure whose error the tasks that depend on it throw, too (failure::spreads).
[[nodiscard]] std::shared_ptr<failure const> make_spreading_failure(std::exception_ptr error);
/// Returns the failure of a task that did not run because a predecessor failed.
/// @param task   The task in words.
/// @param cause  The failure of the predecessor. In a long chain of failures, the first one is kept
///               instead.
[[nodiscard]] std::shared_ptr<failure const> make_dependency_failure(
    std::string const& task, std::shared_ptr<failure const> cause);
/// Returns the failure of a task that was cancelled, or whose deadline has passed, before it ran.
/// @param word  The generation word of the task, which has the reason.
[[nodiscard]] std::shared_ptr<failure const> make_cancellation(std::string const& task,
                                                               generation_word word);

/// The failures of tasks. A task that succeeded has no entry, so the table is usually empty.
/// Threads: any.
class failure_table {
 public:
  /// Adds a failure. Call this before the slot's generation increases, so that a thread that sees
  /// the new generation finds the failure.
  /// @param keep  Whether `get` finds the failure until `forget`, even after `erase`.
  void put(slot_address slot, std::uint64_t generation, std::shared_ptr<failure const> why,
           bool keep = false);
  [[nodiscard]] std::shared_ptr<failure const> get(slot_address slot,
                                                   std::uint64_t generation) const;
  void erase(slot_address slot, std::uint64_t generation) {
    erase_from(entries_, slot, generation);
  }
  /// Erases a failure that was kept, if there is one. Call this only after the task and all tasks
  /// that may depend on it have ended.
  void forget(slot_address slot, std::uint64_t generation) { erase_from(kept_, slot, generation); }
  /// Returns whether the table is empty. Cost: one load.
  [[nodiscard]] bool empty() const noexcept {
    // relaxed: a thread that has seen the end of a task sees that its failure was put before
    return count_.load(std::memory_order_relaxed) == 0;
  }

 private:
  using map = std::unordered_map<std::uint64_t, std::shared_ptr<failure const>>;
  void erase_from(map& entries, slot_address slot, std::uint64_t generation);
  static std::uint64_t key(slot_address slot, std::uint64_t generation) noexcept {
    return std::uint64_t{slot} << 32 | (generation & 0xffff'ffff);
  }
  mutable std::mutex mutex_;
  map entries_;
  map kept_;
  std::atomic<std::size_t> count_{0};  // the entries of both maps
};

}  // namespace flotilla::dispatch
