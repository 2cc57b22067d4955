// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// oneTBB loops of the application. Loop bodies may submit tasks and wait, and callables may run
// loops.

#include <atomic>

#include "support/contract_test.hpp"
#include "support/tbb_calls.hpp"

namespace flotilla::test {
namespace {

class ParallelFor : public contract_test {
 protected:
  /// The number of oneTBB threads that are free in this test, including the calling thread.
  [[nodiscard]] int free_threads() const {
    return GetParam().threads == tbb_threads::all ? max_tbb_threads : 1;
  }
};
FLOTILLA_CONTRACT(ParallelFor);

// requirement
TEST_P(ParallelFor, BodiesThatSubmitAndWaitAllEnd) {
  constexpr int bodies = 64;
  host_buffer<std::uint32_t> results{rt(), bodies};
  std::atomic<int> called{0};
  (void)program();  // loads the program before several threads use it
  tbb_parallel_for(bodies, [&](int index) {
    auto const i = static_cast<std::uint32_t>(index);
    device_ordinal const device{i % static_cast<unsigned>(device_count())};
    ticket const launched =
        rt().submit(program().write.with_shape({1}, {1})(&results[i], i * i), {.device = device});
    rt().submit([&](task_context&) { ++called; }, {.after = {launched}}).wait();
  });
  EXPECT_EQ(called, bodies);
  for (std::uint32_t i = 0; i < results.size(); ++i) { EXPECT_EQ(results[i], i * i); }
}

// requirement: waits end even if every oneTBB thread waits inside a loop body and no thread is free
// for a worker
TEST_P(ParallelFor, WaitsEndWithEveryThreadInABody) {
  std::atomic<int> ended{0};
  (void)program();  // loads the program before several threads use it
  int const threads = free_threads();
  EXPECT_TRUE(on_each_tbb_thread(threads, [&] {
    for (int i = 0; i < 20; ++i) {
      ticket const first_one = rt().submit(program().nothing.with_shape({1}, {1})());
      rt().submit([&](task_context&) { ++ended; }, {.device = last(), .after = {first_one}}).wait();
    }
  }));
  EXPECT_EQ(ended, 20 * threads);
}

thread_local int bodies_on_this_thread = 0;

// requirement: a wait inside a loop body runs no other body on that thread. Otherwise the other
// body could wait for a lock that the first body holds
TEST_P(ParallelFor, WaitRunsNoOtherBodyOnItsThread) {
  std::atomic<int> nested{0}, ran{0};
  tbb_parallel_for(200, [&](int) {
    if (++bodies_on_this_thread != 1) { ++nested; }
    rt().submit([](task_context&) {}).wait();
    ++ran;
    --bodies_on_this_thread;
  });
  EXPECT_EQ(nested, 0);
  EXPECT_EQ(ran, 200);
}

// requirement
TEST_P(ParallelFor, CallablesMayRunLoops) {
  std::atomic<int> ran{0};
  std::vector<ticket> done;
  for (int i = 0; i < 10; ++i) {
    done.push_back(rt().submit([&](task_context&) { tbb_parallel_for(100, [&](int) { ++ran; }); }));
  }
  for (ticket const& each : done) { each.wait(); }
  EXPECT_EQ(ran, 1000);
}

thread_local int callables_on_this_thread = 0;

// requirement: a loop inside a callable runs no other callable on that thread. Otherwise the other
// callable could run with the context of the wrong device
TEST_P(ParallelFor, LoopOfACallableRunsNoOtherCallable) {
  std::atomic<int> nested{0};
  std::vector<ticket> done;
  for (int i = 0; i < 60; ++i) {
    device_ordinal const device{static_cast<unsigned>(i % device_count())};
    done.push_back(rt().submit(
        [&](task_context&) {
          if (++callables_on_this_thread != 1) { ++nested; }
          tbb_parallel_for(8, [&](int) { std::this_thread::yield(); });
          --callables_on_this_thread;
        },
        {.device = device}));
  }
  for (ticket const& each : done) { each.wait(); }
  EXPECT_EQ(nested, 0);
}

// requirement: tasks of a tbb::task_group may submit and wait
TEST_P(ParallelFor, TaskGroupsThatSubmitAndWaitEnd) {
  std::atomic<int> ran{0};
  tbb_task_group(
      50, [&](int) { rt().submit([&](task_context&) { ++ran; }, {.device = last()}).wait(); });
  EXPECT_EQ(ran, 50);
}

}  // namespace
}  // namespace flotilla::test
