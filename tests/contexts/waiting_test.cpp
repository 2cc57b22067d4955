// How a thread waits: it spins, yields or sleeps; and for which work.
#include "contexts_test.hpp"

#include <sys/resource.h>

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

/// Waits for a held kernel by a ticket, with the policy of the device.
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

// C2.5: a spinning thread uses a processor as long as it waits
TEST_F(ContextWaiting, SpinningTakesAProcessor) {
  auto const taken =
      taken_by_a_ticket(wait_policy::spin, [](auto so_far, auto) { return so_far >= much; });
  EXPECT_GE(taken, much);
}

// C2.7: a yielding thread offers its processor repeatedly, by system calls
TEST_F(ContextWaiting, YieldingGivesTheProcessorAway) {
  auto const switches = [] {
    rusage use{};
    EXPECT_EQ(getrusage(RUSAGE_SELF, &use), 0);
    return std::chrono::seconds{use.ru_stime.tv_sec} +
           std::chrono::microseconds{use.ru_stime.tv_usec};
  };
  // A rival thread on every processor: a thread that yields gets nothing while they work, one that
  // spins would get half a processor.
  std::atomic<bool> stop{false};
  std::vector<std::jthread> rivals;
  auto const before = switches();
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
  EXPECT_LT(taken, 3 * much / 2) << "it kept its processor although other threads wanted it";
  EXPECT_GE(switches(), before);
}

// C2.8 C2.91: a blocked thread uses almost no processor time
TEST_F(ContextWaiting, BlockingTakesNoProcessor) {
  auto const taken =
      taken_by_a_ticket(wait_policy::blocking, [](auto, auto gone) { return gone >= 2 * much; });
  EXPECT_LT(taken, much / 2);
}

// C2.6: the policy of one wait overrides that of the device
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

// C2.8 C2.91: the driver's own wait under the blocking flag, on CPU devices and GPUs
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

// C2.89: when it returns, all earlier work is done, on every stream
TEST_F(ContextWaiting, SynchronizingWaitsForEveryStream) {
  CUcontext const made = create();
  CUmodule const module = load();
  std::uint32_t* const words = pinned(4);
  CUstream const one = stream(), two = stream();
  // Loaded before the kernel is held, because lazy loading would wait for it.
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

// C4.18 of the driver: it waits for one context and not for the work of another
TEST_F(ContextWaiting, SynchronizingIsForOneContext) {
  CUcontext const idle = floating(), busy = create();
  std::uint32_t* const words = pinned(2);
  CUmodule const module = load();
  CUfunction const hold = function(module, "hold_until");
  // Loaded before the kernel is held, because lazy loading would wait for it.
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

// C2.11: automatic spins if there are at most as many contexts as processors
TEST_F(ContextWaiting, AutomaticSpinsWhereThereAreProcessorsEnough) {
  if (!on_gpus()) {
    GTEST_SKIP() << "needs a GPU: a CPU device computes on the processors a waiter would keep";
  }
  if (std::thread::hardware_concurrency() < 2) { GTEST_SKIP() << "needs 2 processors"; }
  auto const taken =
      taken_by_a_ticket(wait_policy::automatic, [](auto so_far, auto) { return so_far >= much; });
  EXPECT_GE(taken, much);
}

}  // namespace
}  // namespace flotilla::test
