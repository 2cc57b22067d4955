// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures the processor time of threads.

#include <gtest/gtest.h>

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <thread>

#include "support/eventually.hpp"

namespace flotilla::test {

[[nodiscard]] inline std::chrono::nanoseconds cpu_time_of(clockid_t which) {
  timespec now{};
  EXPECT_EQ(clock_gettime(which, &now), 0);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

/// Returns how long the calling thread has been ready to run but had to wait for a processor.
/// Returns 0 if the system has no /proc/thread-self/schedstat.
[[nodiscard]] inline std::chrono::nanoseconds kept_from_processors() {
  std::int64_t ran = 0, kept = 0;
  std::ifstream{"/proc/thread-self/schedstat"} >> ran >> kept;
  return std::chrono::nanoseconds{kept};
}

/// Runs `wait` on a new thread. Repeatedly calls `enough(used, elapsed)` until the result is true.
/// `used` is the processor time of the new thread, and `elapsed` is the elapsed time, both since
/// the start of `wait`. Finally calls `release`, which must let `wait` return.
/// @return the processor time that the new thread used in `wait`.
template <class Wait, class Release, class Enough>
std::chrono::nanoseconds taken_while_waiting(Wait wait, Release release, Enough enough) {
  using clock = std::chrono::steady_clock;
  std::atomic<bool> begun{false}, released{false};
  clockid_t of_waiter{};
  std::chrono::nanoseconds taken{};
  std::thread waiter{[&] {
    EXPECT_EQ(pthread_getcpuclockid(pthread_self(), &of_waiter), 0);
    auto const before = cpu_time_of(CLOCK_THREAD_CPUTIME_ID);
    begun = true;
    wait();
    taken = cpu_time_of(CLOCK_THREAD_CPUTIME_ID) - before;
    EXPECT_TRUE(released) << "the wait returned before the kernel was released";
  }};
  EXPECT_TRUE(eventually([&] { return begun.load(); }));
  auto const begin = clock::now();
  auto const before = cpu_time_of(of_waiter);
  EXPECT_TRUE(
      eventually([&] { return enough(cpu_time_of(of_waiter) - before, clock::now() - begin); }));
  released = true;
  release();
  waiter.join();
  return taken;
}

/// Binds the calling thread to one processor of the process.
inline void use_one_processor() {
  cpu_set_t all;
  CPU_ZERO(&all);
  EXPECT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (!CPU_ISSET(i, &all)) { continue; }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(i, &one);
    EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    return;
  }
}

/// Runs `wait` on a new thread, on the same processor as a rival thread that always runs. Calls
/// `release` after `duration`, which must let `wait` return. Other threads that use the same
/// processor take time from both threads, so they hardly change the result.
/// @return the share of `wait` in the processor time of both threads: about 0.5 if `wait` spins.
/// Call this function only in a child process, because threads that `wait` creates are bound to
/// the same processor.
template <class Wait, class Release>
[[nodiscard]] double share_beside_a_rival(
    Wait wait, Release release,
    std::chrono::milliseconds duration = std::chrono::milliseconds{300}) {
  std::atomic<bool> stop{false};
  std::atomic<int> running{0};
  clockid_t of_rival{};
  std::thread rival{[&] {
    use_one_processor();
    EXPECT_EQ(pthread_getcpuclockid(pthread_self(), &of_rival), 0);
    ++running;
    while (!stop.load(std::memory_order_relaxed)) {}
  }};
  EXPECT_TRUE(eventually([&] { return running == 1; }));
  std::chrono::nanoseconds rival_before{}, rival_took{};
  auto const waiter_took = taken_while_waiting(
      [&] {
        use_one_processor();
        rival_before = cpu_time_of(of_rival);
        wait();
        rival_took = cpu_time_of(of_rival) - rival_before;
      },
      release,
      [&](auto, auto gone) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
        return gone >= duration;
      });
  stop = true;
  rival.join();
  return std::chrono::duration<double>(waiter_took) /
         std::chrono::duration<double>(waiter_took + rival_took);
}

/// Runs `what`.
/// @return the processor time of the process during `what`, divided by the elapsed time. The result
/// is 1 if one thread of the process was always running.
template <class What>
[[nodiscard]] double share_taken_while(What what) {
  auto const begin = std::chrono::steady_clock::now();
  auto const before = cpu_time_of(CLOCK_PROCESS_CPUTIME_ID);
  what();
  auto const taken = cpu_time_of(CLOCK_PROCESS_CPUTIME_ID) - before;
  return std::chrono::duration<double>(taken) /
         std::chrono::duration<double>(std::chrono::steady_clock::now() - begin);
}

/// Like `share_taken_while`, but without the processor time of the calling thread.
template <class What>
[[nodiscard]] double share_of_other_threads_while(What what) {
  auto const others = [] {
    return cpu_time_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_time_of(CLOCK_THREAD_CPUTIME_ID);
  };
  auto const begin = std::chrono::steady_clock::now();
  auto const before = others();
  what();
  return std::chrono::duration<double>(others() - before) /
         std::chrono::duration<double>(std::chrono::steady_clock::now() - begin);
}

/// Calls `measure` until its result is below `limit`, at most five times. A busy machine only
/// raises a measured share, while a thread that spins raises every one.
/// @return the lowest result.
template <class Measure>
[[nodiscard]] double lowest_share(double limit, Measure measure) {
  double lowest = measure();
  for (int again = 0; again < 4 && lowest >= limit; ++again) {
    lowest = std::min(lowest, measure());
  }
  return lowest;
}

}  // namespace flotilla::test
