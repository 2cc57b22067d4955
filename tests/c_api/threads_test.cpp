// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Many threads that use the C interface at once.

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "c_api/c_fixture.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

class CThreads : public c_api_test {
 protected:
  static constexpr unsigned threads = 8;
  static constexpr unsigned rounds = sanitized ? 100 : 1000;
  /// Calls `body(number)` in several threads, and waits for them.
  template <class Body>
  static void in_threads(Body const& body) {
    std::vector<std::jthread> running;
    for (unsigned i = 0; i < threads; ++i) {
      running.emplace_back([&body, i] { body(i); });
    }
  }
};
FLOTILLA_C_API(CThreads);

// requirement: each task runs once, whether its ticket is waited for, released or not wanted, and
// each function is destroyed once
TEST_P(CThreads, EachTaskRunsOnce) {
  flotilla_buffer const sums[] = {words(0), words(1)};
  static std::atomic<unsigned> ran, destroyed;
  ran = destroyed = 0;
  in_threads([&](unsigned number) {
    for (unsigned i = 0; i < rounds; ++i) {
      flotilla_ticket launched{}, called{};
      FLOTILLA_C_OK(add(sums[(i + number) % 2], 1, nullptr, i % 3 == 0 ? nullptr : &launched));
      FLOTILLA_C_OK(flotilla_submit_function(
          rt,
          [](void*, flotilla_task_context const*) {
            ++ran;
            return 0;
          },
          nullptr, [](void*) { ++destroyed; }, nullptr, &called));
      if (i % 3 == 1) { FLOTILLA_C_OK(flotilla_ticket_wait(launched)); }
      if (i % 3 != 0) { FLOTILLA_C_OK(flotilla_ticket_release(launched)); }
      if (i % 5 == 0) { FLOTILLA_C_OK(flotilla_ticket_wait(called)); }
      FLOTILLA_C_OK(flotilla_ticket_release(called));
    }
  });
  EXPECT_EQ(read(sums[0]) + read(sums[1]), threads * rounds);
  EXPECT_EQ(ran, threads * rounds);
  EXPECT_TRUE(pumping_until([&] { return destroyed == threads * rounds; }));
}

// requirement: handles that threads make and free at the same time differ
TEST_P(CThreads, HandlesDiffer) {
  in_threads([&](unsigned number) {
    for (unsigned i = 0; i < rounds / 10; ++i) {
      flotilla_buffer mine[4]{};
      for (std::size_t k = 0; k < 4; ++k) {
        std::size_t bytes = 0;
        FLOTILLA_C_OK(flotilla_device_alloc(rt, number % 2, 64 * number + k + 1, &mine[k]));
        FLOTILLA_C_OK(flotilla_buffer_bytes(mine[k], &bytes));
        EXPECT_EQ(bytes, 64 * number + k + 1);
      }
      for (flotilla_buffer const each : mine) { FLOTILLA_C_OK(flotilla_buffer_free(each)); }
      EXPECT_EQ(flotilla_buffer_free(mine[i % 4]), FLOTILLA_INVALID_HANDLE);
    }
  });
}

// requirement: threads may use one ticket, kernel and buffer at the same time
TEST_P(CThreads, ObjectsAreShared) {
  flotilla_buffer const word = words(1);
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(add(word, 1, nullptr, &ticket));
  flotilla_kernel const add_to = kernel("add_to");
  in_threads([&](unsigned) {
    std::uint32_t const one = 1;
    flotilla_argument const arguments[] = {flotilla_address(word, 0), FLOTILLA_VALUE(one)};
    flotilla_task_options const options = after(ticket);
    for (unsigned i = 0; i < rounds / 10; ++i) {
      int ready = 0;
      FLOTILLA_C_OK(
          flotilla_submit_launch(add_to, flotilla_over(1, 1), arguments, 2, &options, nullptr));
      FLOTILLA_C_OK(flotilla_ticket_wait(ticket));
      FLOTILLA_C_OK(flotilla_ticket_ready(ticket, &ready));
      EXPECT_EQ(ready, 1);
    }
  });
  EXPECT_EQ(read(word), 1 + threads * (rounds / 10));
  FLOTILLA_C_OK(flotilla_ticket_release(ticket));
}

// requirement: threads may have runtimes of their own
TEST_P(CThreads, RuntimesAreMadeAndDestroyedAtOnce) {
  int const workers = GetParam();
  in_threads([&](unsigned number) {
    for (unsigned i = 0; i < (sanitized || on_gpus() ? 3u : 10u); ++i) {
      flotilla_runtime const mine = make_c_runtime(workers, 1);
      flotilla_program const loaded = load(mine);
      std::uint32_t const value = 100 * number + i;
      std::uint32_t seen = 0;
      flotilla_buffer word{};
      flotilla_ticket written{}, copied{};
      FLOTILLA_C_OK(flotilla_device_alloc(mine, 0, sizeof value, &word));
      flotilla_argument const arguments[] = {flotilla_address(word, 0), FLOTILLA_VALUE(value)};
      FLOTILLA_C_OK(flotilla_submit_launch(kernel_of(loaded, "write_value"), flotilla_over(1, 1),
                                           arguments, 2, nullptr, &written));
      flotilla_task_options const options = after(written);
      FLOTILLA_C_OK(flotilla_submit_copy(flotilla_on_host(&seen), flotilla_in_buffer(word, 0),
                                         sizeof seen, &options, &copied));
      FLOTILLA_C_OK(end_of(copied));
      EXPECT_EQ(seen, value);
      FLOTILLA_C_OK(flotilla_ticket_release(written));
      FLOTILLA_C_OK(flotilla_buffer_free(word));
      FLOTILLA_C_OK(flotilla_runtime_destroy(mine));
    }
  });
}

}  // namespace
}  // namespace flotilla::test
