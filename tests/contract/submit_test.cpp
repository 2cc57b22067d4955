// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Every submitted task runs once. A launch has the kernel, grid, block and arguments of its
// description.

#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class Submit : public contract_test {};
FLOTILLA_CONTRACT(Submit);

// requirement
TEST_P(Submit, LaunchComputesItsResultOnEveryDevice) {
  auto const increment = program().loaded.kernel<std::uint32_t*, std::uint32_t>("increment_all");
  constexpr std::uint32_t count = 1000;  // not a multiple of the block size
  for (device_ordinal const device : ordinals()) {
    std::vector<std::uint32_t> values(count);
    for (std::uint32_t i = 0; i < count; ++i) { values[i] = i * 7 + device.value; }
    device_buffer<std::uint32_t> buffer{rt(), device, values};
    ticket const done = rt().submit(increment.over(count)(buffer, count), {.device = device});
    rt().submit(buffer.copy_to(values), {.after = {done}}).wait();
    done.wait();
    for (std::uint32_t i = 0; i < count; ++i) {
      ASSERT_EQ(values[i], i * 7 + device.value + 1) << i;
    }
  }
}

// requirement
TEST_P(Submit, GridAndBlockArriveAsGiven) {
  auto const report = program().loaded.kernel<std::uint32_t*>("report_shape");
  std::array<std::uint32_t, 7> seen{};
  device_buffer<std::uint32_t> out{rt(), last(), seen};
  ticket const done = rt().submit(report.with_shape({2, 3, 4}, {5, 2, 3})(out));
  rt().submit(out.copy_to(std::span{seen}), {.after = {done}}).wait();
  EXPECT_EQ(seen, (std::array<std::uint32_t, 7>{2, 3, 4, 5, 2, 3, 2 * 3 * 4 * 5 * 2 * 3}));
}

// requirement
TEST_P(Submit, KernelGetsItsDynamicSharedMemory) {
  auto const sum = program().loaded.kernel<std::uint32_t*>("sum_shared");
  device_word out{rt(), first()};
  ticket const done =
      rt().submit(sum.with_shape({1}, {100}, 100 * sizeof(std::uint32_t))(out.buffer()));
  EXPECT_EQ(out.read({done}), 5050u);
}

// requirement
TEST_P(Submit, OneLaunchMayBeSubmittedAgainAndAgain) {
  device_word value{rt(), first()};
  launch const again = program().add.with_shape({1}, {1})(value.buffer(), 5u);
  dependency_list all;
  std::vector<ticket> tickets;
  for (int i = 0; i < 10; ++i) {
    tickets.push_back(rt().submit(again));
    all.add(tickets.back());
  }
  EXPECT_EQ(value.read(all), 50u);
}

// requirement
TEST_P(Submit, LaunchOutsideBatchesRuns) {
  device_word value{rt(), last()};
  ticket const done =
      rt().submit(program().write.with_shape({1}, {1})(value.buffer(), 9u), {.batch = false});
  EXPECT_EQ(value.read({done}), 9u);
}

// requirement
TEST_P(Submit, CallableRunsOnceWithItsDevicesContextCurrent) {
  for (device_ordinal const device : ordinals()) {
    int runs = 0;
    device_ordinal seen{99};
    rt().submit(
            [&](task_context& context) {
              ++runs;
              seen = context.device().ordinal;
              EXPECT_NE(context.context(), nullptr);
              EXPECT_NE(context.stream(), nullptr);
            },
            {.device = device})
        .wait();
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(seen, device);
  }
}

// requirement
TEST_P(Submit, MoveOnlyAndLargeCallablesRun) {
  int sum = 0;
  rt().submit([&sum, owned = std::make_unique<int>(3)](task_context&) { sum += *owned; }).wait();
  std::array<int, 100> large{};  // 400 bytes do not fit inline into a `callable`
  large.fill(2);
  rt().submit([&sum, large](task_context&) {
        for (int const each : large) { sum += each; }
      })
      .wait();
  EXPECT_EQ(sum, 203);
}

// requirement
TEST_P(Submit, DroppedTicketDropsNoTask) {
  std::atomic<int> ran{0};
  device_word value{rt(), first()};
  for (int i = 0; i < 50; ++i) {
    (void)rt().submit([&ran](task_context&) { ++ran; });
    (void)rt().submit(program().add.with_shape({1}, {1})(value.buffer(), 1u));
  }
  rt().wait_idle();
  EXPECT_EQ(ran, 50);
  EXPECT_EQ(value.read(), 50u);
}

// requirement
TEST_P(Submit, TasksOfManyThreadsAllRun) {
  constexpr unsigned threads = 4, each = 200;
  std::vector<std::unique_ptr<device_word>> sums;
  for (device_ordinal const device : ordinals()) {
    sums.push_back(std::make_unique<device_word>(rt(), device));
  }
  // Loads the program before several threads use it.
  launch const nothing = program().nothing.with_shape({1}, {1})();
  {
    std::vector<std::jthread> team;
    for (unsigned t = 0; t < threads; ++t) {
      team.emplace_back([&, t] {
        for (unsigned i = 0; i < each; ++i) {
          auto& sum = *sums[(t + i) % sums.size()];
          (void)rt().submit(program().add.with_shape({1}, {1})(sum.buffer(), 1u));
          (void)rt().submit(nothing);
        }
      });
    }
  }
  rt().wait_idle();
  std::uint32_t all = 0;
  for (auto const& sum : sums) { all += sum->read(); }
  EXPECT_EQ(all, threads * each);
}

// error guess: a task runs even if the thread that submitted it has ended, because the inbox
// outlives the thread
TEST_P(Submit, TaskOfAThreadThatEndedRuns) {
  ticket left;
  int ran = 0;
  std::thread{[&] {
    left = rt().submit([&ran](task_context&) { ++ran; }, {.device = last()});
  }}.join();
  left.wait();
  EXPECT_EQ(ran, 1);
}

/// Submits tasks in its destructor. This destructor runs after the destructor of the thread's
/// inboxes, because the inboxes are created after this object.
struct late_submitter {
  runtime* rt = nullptr;
  std::atomic<int>* ran = nullptr;
  ~late_submitter() {
    if (rt == nullptr) { return; }
    rt->submit([counter = ran](task_context&) { ++*counter; }).wait();
    (void)rt->submit([counter = ran](task_context&) { ++*counter; });
  }
};

// regression: a submit in the destructor of a thread_local object used the thread's inboxes after
// their destruction
TEST_P(Submit, ADestructorOfAThreadLocalObjectMaySubmit) {
  std::atomic<int> ran{0};
  std::thread{[&] {
    static thread_local late_submitter late;
    late.rt = &rt();
    late.ran = &ran;
    rt().submit([&](task_context&) { ++ran; }).wait();
  }}.join();
  rt().wait_idle();
  EXPECT_EQ(ran, 3);
}

// requirement: after a callable has run, the callable and the objects that it owns are destroyed
TEST_P(Submit, CallableIsDestroyedOnce) {
  auto const owned = std::make_shared<int>(1);
  ticket const done = rt().submit([owned](task_context&) {});
  done.wait();
  rt().wait_idle();
  EXPECT_TRUE(pumping(rt(), [&] { return owned.use_count() == 1; }));
}

// requirement: a task without options runs as a task with the default options
TEST_P(Submit, NoOptionsAreTheDefaultOptions) {
  device_word sum{rt(), last()};
  launch const add_one = program().add.with_shape({1}, {1})(sum.buffer(), 1u);
  task_options const chosen;
  for (int i = 0; i < 50; ++i) {
    ticket const without = rt().submit(add_one);
    ticket const with = rt().submit(add_one, chosen);
    EXPECT_EQ(without.device(), with.device());
    rt().post(add_one);
    rt().post(add_one, {});
    rt().submit(add_one, {.after = {without, with}}).wait();
  }
  rt().wait_idle();
  EXPECT_EQ(sum.read(), 250u);
}

}  // namespace
}  // namespace flotilla::test
