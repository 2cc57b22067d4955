// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The life cycle of a runtime: options, close, wait_idle, pump, and the destructor.

#include <atomic>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>

#include "support/contract_test.hpp"
#include "support/devices.hpp"
#include "support/driver_in_use.hpp"

namespace flotilla::test {
namespace {

class Lifecycle : public contract_test {};
FLOTILLA_CONTRACT(Lifecycle);

// requirement
TEST_P(Lifecycle, RuntimeListsItsDevices) {
  ASSERT_EQ(rt().devices().size(), static_cast<std::size_t>(device_count()));
  for (unsigned i = 0; i < rt().devices().size(); ++i) {
    device const& each = rt().devices()[i];
    EXPECT_EQ(each.ordinal.value, i);
    EXPECT_EQ(each.kind, on_gpus() ? device_kind::gpu : device_kind::cpu);
    EXPECT_FALSE(each.name.empty());
    EXPECT_EQ(each.uuid.substr(0, 4), on_gpus() ? "GPU-" : "CPU-");
    EXPECT_FALSE(each.pci_id.empty());
    EXPECT_GT(each.multiprocessors, 0);
    EXPECT_GT(each.memory_bytes, 0u);
  }
  EXPECT_FALSE(rt().driver_text().empty());
}

// requirement
TEST_P(Lifecycle, DestructorRunsSubmittedTasks) {
  std::atomic<int> ran{0};
  for (int i = 0; i < 100; ++i) {
    device_ordinal const device{static_cast<unsigned>(i % device_count())};
    (void)rt().submit([&](task_context&) { ++ran; }, {.device = device});
    (void)rt().submit([&](task_context&) { ++ran; });
  }
  stop();
  EXPECT_EQ(ran, 200);
}

// requirement: the destructor runs all open tasks, even if they form a chain across devices
TEST_P(Lifecycle, DestructorRunsChains) {
  std::atomic<int> ran{0};
  ticket before = rt().submit([&](task_context&) { ++ran; });
  for (int i = 0; i < 50; ++i) {
    device_ordinal const device{static_cast<unsigned>(i % device_count())};
    before = rt().submit([&](task_context&) { ++ran; }, {.device = device, .after = {before}});
  }
  stop();
  EXPECT_EQ(ran, 51);
  EXPECT_TRUE(before.ready());
}

// requirement
TEST_P(Lifecycle, DestructorWaitsForHeldWork) {
  ticket held;
  {
    // The destructor of `word` releases the kernel, so `word` must be destroyed before the runtime.
    held_word word{rt()};
    held = rt().submit(word.launch_of(program()), {.device = last()});
    ASSERT_TRUE(pumping(rt(), [&] { return word.started(); }));
    EXPECT_FALSE(held.ready());
  }
  stop();
  EXPECT_TRUE(held.ready());
}

// requirement
TEST_P(Lifecycle, ClosedRuntimeRefusesNewTasksAndEndsOldOnes) {
  std::atomic<int> ran{0};
  ticket const before = rt().submit([&](task_context&) { ++ran; }, {.device = last()});
  launch const again = program().nothing.with_shape({1}, {1})();
  device_buffer<std::uint32_t> memory{rt(), last(), 4};
  rt().close();
  rt().close();
  EXPECT_THROW((void)rt().submit(again), runtime_closed);
  EXPECT_THROW((void)rt().submit(memory.fill(1)), runtime_closed);
  EXPECT_THROW((void)rt().submit([](task_context&) {}), runtime_closed);
  EXPECT_THROW((void)rt().try_submit(again), runtime_closed);
  EXPECT_THROW((void)rt().try_submit([](task_context&) {}), runtime_closed);
  before.wait();
  rt().wait_idle();
  EXPECT_EQ(ran, 1);
}

// requirement
TEST_P(Lifecycle, ClosingInsideACallableDoesNotWait) {
  int later = 0;
  ticket const closing = rt().submit([&](task_context&) { rt().close(); }, {.device = first()});
  closing.wait();
  EXPECT_THROW((void)rt().submit([&](task_context&) { ++later; }), runtime_closed);
  stop();
  EXPECT_EQ(later, 0);
}

// requirement: `wait_idle` waits for all tasks and does not throw their errors. `wait` of a ticket
// throws the error of its task
TEST_P(Lifecycle, WaitIdleWaitsForEverythingAndThrowsNothing) {
  std::vector<ticket> open;
  std::atomic<int> ran{0};
  for (int i = 0; i < 60; ++i) {
    device_ordinal const device{static_cast<unsigned>(i % device_count())};
    open.push_back(rt().submit(
        [&, i](task_context&) {
          ++ran;
          if (i % 3 == 0) { throw std::runtime_error{"kept"}; }
        },
        {.device = device}));
    open.push_back(rt().submit(program().nothing.with_shape({1}, {1})()));
  }
  rt().wait_idle();
  EXPECT_EQ(ran, 60);
  int bad = 0;
  for (ticket const& each : open) {
    EXPECT_TRUE(each.ready());
    try {
      each.wait();
    } catch (std::runtime_error const&) { ++bad; }
  }
  EXPECT_EQ(bad, 20);
  rt().wait_idle();  // returns at once
}

// requirement: `wait_idle` also waits for tasks and continuations that continuations create during
// the call. An earlier version returned after the first of the rounds
TEST_P(Lifecycle, WaitIdleWaitsForWhatContinuationsSubmit) {
  constexpr int rounds = 100;
  std::atomic<int> ran{0};
  std::function<void(std::exception_ptr)> const again = [&](std::exception_ptr) {
    if (++ran < rounds) {
      rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()}).then(again);
    }
  };
  rt().submit(program().nothing.with_shape({1}, {1})(), {.device = first()}).then(again);
  rt().wait_idle();
  EXPECT_EQ(ran, rounds);
}

// requirement: the same for tasks that callables submit, and for a continuation that has begun
// before the call
TEST_P(Lifecycle, WaitIdleWaitsForWhatCallablesSubmit) {
  constexpr int rounds = 100;
  std::atomic<int> ran{0};
  std::function<void(task_context&)> const again = [&](task_context&) {
    if (++ran < rounds) { rt().post(again, {.device = last()}); }
  };
  rt().post(again, {.device = first()});
  rt().wait_idle();
  EXPECT_EQ(ran, rounds);
}

// requirement: `wait_idle` waits for a continuation that runs on another thread
TEST_P(Lifecycle, WaitIdleWaitsForARunningContinuation) {
  latch begun;
  latch may_end;
  std::atomic<bool> done{false};
  ticket const task = rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()});
  task.then([&](std::exception_ptr) {
    begun.open();
    may_end.wait();
    rt().post([&](task_context&) { done = true; }, {.device = last()});
  });
  std::thread other{[&] { EXPECT_TRUE(pumping(rt(), [&] { return begun.is_open(); })); }};
  begun.wait();
  std::thread opener{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    may_end.open();
  }};
  rt().wait_idle();
  EXPECT_TRUE(done) << "the task that the continuation submitted must have ended";
  opener.join();
  other.join();
}

// requirement
TEST_P(Lifecycle, PumpTellsWhetherTasksAreLeft) {
  EXPECT_FALSE(rt().pump()) << "nothing was submitted";
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  ASSERT_TRUE(pumping(rt(), [&] { return word.started(); }));
  EXPECT_TRUE(rt().pump());
  EXPECT_TRUE(rt().pump()) << "the task is held";
  word.release();
  EXPECT_TRUE(eventually([&] { return !rt().pump(); }));
  EXPECT_TRUE(held.ready());
}

// requirement: several threads that only pump run all tasks
TEST_P(Lifecycle, PumpingThreadsRunEverything) {
  std::atomic<int> ran{0};
  for (int i = 0; i < 200; ++i) {
    (void)rt().submit([&](task_context&) { ++ran; });
  }
  {
    std::vector<std::jthread> team;
    for (int t = 0; t < 3; ++t) {
      team.emplace_back([&] {
        EXPECT_TRUE(pumping(rt(), [&] { return ran == 200; }));
        EXPECT_EQ(current_context(), nullptr);
      });
    }
  }
  rt().wait_idle();
  EXPECT_EQ(ran, 200);
}

// requirement
TEST_P(Lifecycle, TwoRuntimesOnTheSameDevicesDoNotDisturbEachOther) {
  runtime second{options()};
  device_word here{rt(), last(), 1};
  device_word there{second, last(), 2};
  test_program const others{second};
  std::vector<ticket> mine, theirs;
  for (std::uint32_t i = 0; i < 20; ++i) {
    mine.push_back(rt().submit(program().add.with_shape({1}, {1})(here.buffer(), 1u)));
    theirs.push_back(second.submit(others.add.with_shape({1}, {1})(there.buffer(), 2u)));
  }
  EXPECT_EQ(there.read(theirs), 42u);
  EXPECT_EQ(here.read(mine), 21u);
  EXPECT_EQ(second.counters(last()).failed + rt().counters(last()).failed, 0u);
}

// requirement
TEST_P(Lifecycle, OptionsOutOfRangeAreRefused) {
  std::size_t const handles = live_handles();
  auto const refused = [&](auto change) {
    auto changed = options();
    change(changed);
    EXPECT_THROW((runtime{changed}), invalid_argument);
  };
  refused([](runtime_options& o) { o.window = 63; });
  refused([](runtime_options& o) { o.window = 65001; });
  refused([](runtime_options& o) { o.window = 0; });
  refused([](runtime_options& o) { o.workers = -2; });
  EXPECT_EQ(live_handles(), handles);
  auto largest = options();
  largest.window = 65000;
  start(largest).submit([](task_context&) {}).wait();
}

// error guess: objects that should have been destroyed before the runtime are destroyed after it
TEST(LateObjects, AreReportedAndDoNotCrash) {
  FLOTILLA_NEED_DEVICES(1);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto const outlive = [](bool with_ticket) {
    auto rt = std::make_unique<runtime>(runtime_options{.devices = device_spec(1)});
    ticket kept = rt->submit([](task_context&) {});
    {
      device_buffer<int> const device{*rt, device_ordinal{0}, 100};
      host_buffer<int> const host{*rt, 100};
      recording const recorded{*rt};
      if (!with_ticket) { kept = {}; }
      rt.reset();
    }
    std::exit(7);
  };
  for (bool const with_ticket : {false, true}) {
    EXPECT_EXIT(outlive(with_ticket), ::testing::ExitedWithCode(7),
                "a recording was destroyed after its runtime.*\n.*a host_buffer was destroyed "
                "after.*\n.*a device_buffer was destroyed after");
  }
}

}  // namespace
}  // namespace flotilla::test
