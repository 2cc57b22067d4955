// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The ways in which a thread waits (it spins, yields or sleeps), and the work for which
// `cuCtxSynchronize` waits.
#include "contexts_test.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>

#include "processor_time.hpp"
#include "support/child.hpp"
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

/// @return the share of a thread that waits for a ticket in the processor time of this thread and a
/// rival thread, see `share_beside_a_rival`.
double share_of_a_ticket(wait_policy how) {
  runtime_options options{.devices = device_spec(1), .workers = 1};
  options.settings.all.schedule = how;
  runtime rt{options};
  test_program const program{rt};
  held_word word{rt};
  ticket const held = rt.submit(word.launch_of(program));
  // oneTBB may have no worker if the process may use only one processor.
  EXPECT_TRUE(pumping(rt, [&] { return word.started(); }));
  return share_beside_a_rival([&] { held.wait(); }, [&] { word.release(); });
}

// C2.7: with the policy `yield`, a waiting thread gives its processor to other threads. The
// controls are a thread that spins without flotilla and, on GPUs, a thread that waits with the
// policy `spin`. (On CPU devices this policy yields from time to time, because the device needs a
// processor.)
TEST_F(ContextWaiting, YieldingGivesTheProcessorAway) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    std::atomic<bool> stop{false};
    double const control = share_beside_a_rival(
        [&] {
          while (!stop.load(std::memory_order_relaxed)) {}
        },
        [&] { stop = true; });
    double const spins = share_of_a_ticket(wait_policy::spin);
    double const yields = lowest_share(0.2, [] { return share_of_a_ticket(wait_policy::yield); });
    std::fprintf(stderr, "beside a rival: a spinning thread %.2f, spin %.2f, yield %.2f\n", control,
                 spins, yields);
    EXPECT_GT(control, 0.35);
    if (on_gpus()) { EXPECT_GT(spins, 0.35); }
    EXPECT_LT(yields, 0.2);
  });
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

/// As long as this object exists, the calling thread and its child processes may use only one
/// processor. A child process has to inherit this, because it counts the processors when it starts.
class one_processor {
 public:
  one_processor() {
    CPU_ZERO(&before_);
    EXPECT_EQ(sched_getaffinity(0, sizeof before_, &before_), 0);
    use_one_processor();
  }
  ~one_processor() { EXPECT_EQ(sched_setaffinity(0, sizeof before_, &before_), 0); }
  one_processor(one_processor const&) = delete;
  one_processor& operator=(one_processor const&) = delete;

 private:
  cpu_set_t before_;
};

/// Waits in a process that may use one processor: with one context, and after `second_context`,
/// which must create another context.
void expect_to_yield_with_two_contexts(std::function<void()> const& second_context) {
  double const alone = share_of_a_ticket(wait_policy::automatic);
  second_context();
  double const with_two = share_of_a_ticket(wait_policy::automatic);
  std::fprintf(stderr, "one processor: with one context %.2f, with two %.2f\n", alone, with_two);
  // On a CPU device the waiting thread yields in both cases.
  if (on_gpus()) { EXPECT_GT(alone, 0.35); }
  EXPECT_LT(with_two, 0.2);
}

// C2.11: with the policy `automatic`, a waiting thread yields if the process has more contexts than
// it may use processors. This process may use one processor, and has the context of the runtime and
// a floating_context
TEST_F(ContextWaiting, AutomaticYieldsWithMoreContextsThanProcessors) {
  one_processor const bound;
  FLOTILLA_EXPECT_IN_CHILD([] {
    std::optional<floating_context> second;
    expect_to_yield_with_two_contexts([&] {
      context_driver const driver = on_gpus() ? context_driver::gpus() : context_driver::cpus(1);
      second.emplace(driver, driver.devices()[0]);
    });
  });
}

// C2.11: primary contexts of other code count, too
TEST_F(ContextWaiting, AutomaticCountsPrimaryContextsOfOtherCode) {
  one_processor const bound;
  FLOTILLA_EXPECT_IN_CHILD([] {
    expect_to_yield_with_two_contexts([] {
      CUdevice device{};
      CUcontext primary = nullptr;
      EXPECT_OK(cu().device_get(&device, 0));
      EXPECT_OK(cu().device_primary_ctx_retain(&primary, device));
    });
  });
}

}  // namespace
}  // namespace flotilla::test
