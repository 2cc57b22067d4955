// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Allocations that fail, for the tests in this folder. no_memory_test.cpp replaces operator new.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <new>

#include <flotilla/error/error.hpp>

#include "support/child.hpp"

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

  [[nodiscard]] bool allows_one() noexcept {
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
};
inline constinit countdown allocations;

/// Returns true if `action` returns or throws an error that lack of memory may cause.
[[nodiscard]] inline bool ends_or_reports(std::function<void()> const& action) {
  try {
    action();
    return true;
  } catch (std::bad_alloc const&) { return true; } catch (poisoned const& why) {
    return why.status() == driver_status::out_of_memory;
  } catch (driver_error const& why) {
    return why.status() == driver_status::out_of_memory;
  } catch (error const&) {
    return true;  // a task or a dependent task failed because the driver got no memory
  }
}

enum verdict : int { survived = 0, not_reached = 1, wrong_error = 2 };

/// Calls `child` in a child process for n = first, first + step, …, until n exceeds the number of
/// allocations.
inline void for_each_allocation(std::function<int(long n)> const& child, long first = 1,
                                long step = 1) {
  constexpr int enough = 3;  // workers allocate too, so the number of allocations varies
  int beyond = 0;
  for (long n = first; beyond < enough; n += step) {
    int const ended = forked([&] { return child(n); });
    ASSERT_TRUE(ended == survived || ended == not_reached)
        << "allocation " << n << ": status " << ended
        << (ended > 256 ? ": the signal with the number (status - 256) ended the child" : "");
    beyond += ended == not_reached ? 1 : 0;
  }
}

}  // namespace flotilla::test
