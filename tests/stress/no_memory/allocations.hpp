// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The allocations of this program, which replaces the global operator new: some fail, or take long.

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace flotilla::test {

enum class failing { once, from_then_on };

/// Counts allocations and says which ones fail. Only the thread that calls start and stop writes
/// `first_to_fail`. So if a worker is inside allows_one() while stop() returns, at most that one
/// allocation fails.
struct countdown {
  std::atomic<long> first_to_fail{0};  // 0: no allocation fails
  std::atomic<long> counted{0};
  std::atomic<bool> repeat{false};
  std::atomic<bool> reached{false};
  std::atomic<std::chrono::microseconds::rep> delay_of_others{0};  // 0: none
  static inline thread_local constinit bool is_never_delayed = false;

  [[nodiscard]] bool allows_one() noexcept {
    if (auto const time = delay_of_others.load(std::memory_order_relaxed);
        time != 0 && !is_never_delayed) {
      std::this_thread::sleep_for(std::chrono::microseconds{time});
    }
    long const first = first_to_fail.load(std::memory_order_relaxed);
    if (first == 0) { return true; }
    long const number = counted.fetch_add(1) + 1;
    if (number < first || (number > first && !repeat)) { return true; }
    reached = true;
    return false;
  }
  void start(long n, failing kind) noexcept {
    counted = 0;
    reached = false;
    repeat = kind == failing::from_then_on;
    first_to_fail = n;
  }
  void stop() noexcept { first_to_fail = 0; }
  /// From now on, each allocation of another thread takes at least `time`. 0 ends this.
  void delay_other_threads(std::chrono::microseconds time) noexcept {
    is_never_delayed = true;
    delay_of_others = time.count();
  }
};
extern constinit countdown allocations;

/// How a child process ends.
enum verdict : int { survived = 0, not_reached = 1, wrong_result = 2 };

/// Returns true if `action` returns or throws an error that lack of memory may cause.
[[nodiscard]] bool ends_or_reports(std::function<void()> const& action);

/// Calls `child` in a child process for n = first, first + step, …, until n exceeds the number of
/// allocations.
/// @param child  Lets the n-th allocation fail. @return a verdict
void for_each_allocation(std::function<int(long n)> const& child, long first = 1, long step = 1);

}  // namespace flotilla::test
