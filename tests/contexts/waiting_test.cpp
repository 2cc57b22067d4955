// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The ways in which a thread waits (it spins, yields or sleeps), and the work for which
// `cuCtxSynchronize` waits.
#include "contexts_test.hpp"

#include <atomic>
#include <chrono>
#include <optional>

#include "processor_time.hpp"
#include "support/eventually.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;
using ContextWaiting = contexts_test;

constexpr auto much = 200ms;

/// Waits for the ticket of a held kernel on a device with the policy `how`. The kernel is released
/// as soon as `enough` returns true (see `taken_while_waiting`).
/// @return the processor time that the waiting thread used.
template <class Enough>
std::chrono::nanoseconds taken_by_a_ticket(wait_policy how, Enough enough) {
  runtime_options options{.devices = device_spec(1), .workers = 1};
  options.settings.all.schedule = how;
  runtime rt{options};
  EXPECT_EQ(rt.effective_settings(device_ordinal{0}).schedule, how);
  test_program const program{rt};
  held_word word{rt};
  ticket const held = rt.submit(word.launch_of(program));
  EXPECT_TRUE(eventually([&] { return word.started(); }));
  return taken_while_waiting([&] { held.wait(); }, [&] { word.release(); }, enough);
}

// C2.5: with the policy `spin`, a waiting thread uses a processor all the time
TEST_F(ContextWaiting, SpinningTakesAProcessor) {
  auto const taken =
      taken_by_a_ticket(wait_policy::spin, [](auto so_far, auto) { return so_far >= much; });
  EXPECT_GE(taken, much);
}

// C2.7: with the policy `yield`, a waiting thread gives its processor to other threads
TEST_F(ContextWaiting, YieldingGivesTheProcessorAway) {
  // There is a busy rival thread for every processor. While the rival threads run, a thread that
  // yields gets little processor time. A thread that spins would get about half a processor.
  std::atomic<bool> stop{false};
  std::vector<std::jthread> rivals;
  std::chrono::nanoseconds taken{};
  {
    for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) {
      rivals.emplace_back([&] {
        while (!stop.load(std::memory_order_relaxed)) {}
      });
    }
    taken = taken_by_a_ticket(wait_policy::yield, [](auto, auto gone) { return gone >= 2 * much; });
    stop = true;
  }
  EXPECT_LT(taken, 3 * much / 2) << "the waiting thread did not yield to the rival threads";
}

// C2.8 C2.91: with the policy `blocking`, a waiting thread uses almost no processor time
TEST_F(ContextWaiting, BlockingTakesNoProcessor) {
  auto const taken =
      taken_by_a_ticket(wait_policy::blocking, [](auto, auto gone) { return gone >= 2 * much; });
  EXPECT_LT(taken, much / 2);
}

// C2.6: the policy that is passed to `wait` overrides the policy of the device
TEST_F(ContextWaiting, AWaitCanChooseItsOwnWay) {
  runtime_options options{.devices = device_spec(1), .workers = 1};
  options.settings.all.schedule = wait_policy::spin;
  runtime rt{options};
  test_program const program{rt};
  held_word word{rt};
  ticket const held = rt.submit(word.launch_of(program));
  EXPECT_TRUE(eventually([&] { return word.started(); }));
  auto const taken =
      taken_while_waiting([&] { held.wait(wait_policy::blocking); }, [&] { word.release(); },
                          [](auto, auto gone) { return gone >= 2 * much; });
  EXPECT_LT(taken, much / 2);
}

// C2.8 C2.91: in a context with the flag CU_CTX_SCHED_BLOCKING_SYNC, `cuCtxSynchronize` uses almost
// no processor time
TEST_F(ContextWaiting, TheDriversBlockingFlagBlocksItsWaits) {
  CUcontext const made = create(CU_CTX_SCHED_BLOCKING_SYNC);
  std::uint32_t* const words = pinned(2);
  held_stream held{function(load(), "hold_until"), stream(), words};
  pop();
  auto const taken = taken_while_waiting(
      [&] {
        pushed const here{made};
        EXPECT_OK(cu().ctx_synchronize());
      },
      [&] { held.release(); }, [](auto, auto gone) { return gone >= 2 * much; });
  EXPECT_LT(taken, much / 2);
}

// C2.89: when `cuCtxSynchronize` returns, all earlier work of every stream of the context has ended
TEST_F(ContextWaiting, SynchronizingWaitsForEveryStream) {
  CUcontext const made = create();
  CUmodule const module = load();
  std::uint32_t* const words = pinned(4);
  CUstream const one = stream(), two = stream();
  // Load the functions before a kernel is held, because lazy loading would wait for that kernel.
  CUfunction const hold = function(module, "hold_until"), put = function(module, "put");
  EXPECT_OK(launch(put, one, words + 2, 1));
  EXPECT_OK(cu().ctx_synchronize());
  held_stream held{hold, one, words};
  EXPECT_OK(launch(put, one, words + 2, 5));
  EXPECT_OK(launch(put, two, words + 3, 6));
  pop();
  std::atomic<bool> back{false};
  std::thread waiter{[&] {
    pushed const here{made};
    EXPECT_OK(cu().ctx_synchronize());
    back = true;
    EXPECT_EQ(words[2], 5u);
    EXPECT_EQ(words[3], 6u);
  }};
  EXPECT_TRUE(eventually([&] { return held.started(); }));
  EXPECT_FALSE(back);
  held.release();
  waiter.join();
  EXPECT_TRUE(back);
}

// C4.18: `cuCtxSynchronize` waits for the current context and not for other contexts
TEST_F(ContextWaiting, SynchronizingIsForOneContext) {
  CUcontext const idle = floating(), busy = create();
  std::uint32_t* const words = pinned(2);
  CUmodule const module = load();
  CUfunction const hold = function(module, "hold_until");
  // Load the functions before a kernel is held, because lazy loading would wait for that kernel.
  EXPECT_OK(launch(function(module, "nothing"), nullptr));
  EXPECT_OK(cu().ctx_synchronize());
  held_stream held{hold, stream(), words};
  pop();
  push(idle);
  EXPECT_OK(cu().ctx_synchronize());
  EXPECT_OK(cu().ctx_synchronize());
  pop();
  held.release();
  pushed const here{busy};
  EXPECT_OK(cu().ctx_synchronize());
}

// C2.11: with the policy `automatic`, a waiting thread spins unless the process has more contexts
// than the machine has processors
TEST_F(ContextWaiting, AutomaticSpinsWhereThereAreProcessorsEnough) {
  if (!on_gpus()) {
    GTEST_SKIP() << "needs a GPU: a spinning thread would take a processor from a CPU device";
  }
  if (std::thread::hardware_concurrency() < 2) { GTEST_SKIP() << "needs 2 processors"; }
  auto const taken =
      taken_by_a_ticket(wait_policy::automatic, [](auto so_far, auto) { return so_far >= much; });
  EXPECT_GE(taken, much);
}

}  // namespace
}  // namespace flotilla::test
