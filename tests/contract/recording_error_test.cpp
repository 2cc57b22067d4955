// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Recordings that are refused. Replays that are refused, that wait for free slots, or that fail.

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "contract/recording_fixture.hpp"

namespace flotilla::test {
namespace {

class RecordingErrors : public recording_test {};
FLOTILLA_CONTRACT(RecordingErrors);

// requirement: a recording refuses pageable copies, and operations on empty buffers. `set` refuses
// to change a task's kind or the direction of a copy
TEST_P(RecordingErrors, CopiesThatNoGraphCanHoldAreRefused) {
  device_buffer<std::uint32_t> there{rt(), last(), 4}, empty{rt(), last(), 0};
  host_buffer<std::uint32_t> pinned{rt(), 4};
  std::vector<std::uint32_t> pageable(4);
  recording steps{rt()};
  EXPECT_THAT(thrown<invalid_argument>([&] { steps.add(there.copy_to(pageable)); }),
              HasSubstr("pageable"));
  if (device_count() > 1) {
    EXPECT_THROW(steps.add(there.fill(1), {.device = first()}), invalid_argument);
  }
  EXPECT_THROW(steps.add(empty.fill(1)), invalid_argument);
  device_buffer<std::uint32_t> unmade;
  EXPECT_THROW(steps.add(unmade.fill(1)), invalid_argument);
  auto const down = steps.add(there.copy_to(pinned));
  for (int finished = 0; finished < 2; ++finished) {
    EXPECT_THAT(thrown<invalid_argument>([&] { steps.set(down, there.copy_from(pinned)); }),
                HasSubstr("task 0"));
    EXPECT_THROW(steps.set(down, there.fill(1)), invalid_argument);
    EXPECT_THROW(steps.set(down, program().nothing.with_shape({1}, {1})()), invalid_argument);
    EXPECT_THROW(steps.set(down, there.copy_to(pageable)), invalid_argument);
    steps.finish();
  }
  steps.replay().wait();
}

// requirement: an invalid task is refused. The error names the task or its kernel, and the
// recording does not change
TEST_P(RecordingErrors, InvalidTasksAreRefusedByName) {
  host_buffer<std::uint32_t> value = word(1);
  recording steps{rt()}, other{rt()};
  EXPECT_THAT(thrown<invalid_argument>([&] { steps.finish(); }), HasSubstr("no task"));
  auto const task = steps.add(step(value, 3, 1));
  auto const foreign = other.add(step(value, 3, 1));
  EXPECT_THAT(thrown<invalid_argument>([&] { steps.set(foreign, step(value, 9, 9)); }),
              HasSubstr("another recording"));
  EXPECT_THAT(thrown<invalid_argument>([&] { steps.add(step(value, 9, 9), {.after = {foreign}}); }),
              HasSubstr("another recording"));
  EXPECT_THAT(thrown<invalid_argument>([&] { steps.set(recorded_task{}, step(value, 9, 9)); }),
              HasSubstr("no task"));
  EXPECT_THAT(thrown<invalid_argument>([&] { steps.add(program().nothing.over(0)()); }),
              HasSubstr("'nothing'"));
  EXPECT_THAT(thrown<invalid_argument>([&] { steps.set(task, program().nothing.over(0)()); }),
              HasSubstr("'nothing'"));
  EXPECT_THROW(steps.add(step(value, 9, 9), {.device = device_ordinal{99}}), unknown_device);
  runtime other_rt{{.devices = "cpu:1", .workers = 0}};
  test_program const others{other_rt};
  EXPECT_THROW(steps.add(others.nothing.with_shape({1}, {1})()), wrong_runtime);
  EXPECT_THROW(steps.set(task, others.nothing.with_shape({1}, {1})()), wrong_runtime);
  ticket const foreign_ticket = other_rt.submit(others.nothing.with_shape({1}, {1})());
  EXPECT_THROW(static_cast<void>(steps.replay({.after = {foreign_ticket}})), wrong_runtime);
  EXPECT_THROW(static_cast<void>(steps.replay({.after = {ticket{}}})), invalid_argument);
  steps.replay().wait();
  EXPECT_THAT(thrown<invalid_argument>([&] { steps.add(step(value, 9, 9)); }),
              AllOf(HasSubstr("finished"), HasSubstr("multiply_add")));
  EXPECT_EQ(steps.size(), 1u);
  EXPECT_EQ(value[0], 4u) << "the replay must run only the valid task, with its old arguments";
}

// requirement
TEST_P(RecordingErrors, ClosedRuntimeRefusesReplays) {
  recording steps{rt()}, late{rt()};
  static_cast<void>(steps.add(program().nothing.with_shape({1}, {1})()));
  static_cast<void>(late.add(program().nothing.with_shape({1}, {1})()));
  ticket const before = steps.replay();
  rt().close();
  EXPECT_THROW(static_cast<void>(steps.replay()), runtime_closed);
  EXPECT_THROW(late.finish(), runtime_closed);
  before.wait();
}

// regression: a replay inside a callable needed two slots of a device, and only one slot was free.
// The replay took the free slot and searched forever for a second slot
TEST_P(RecordingErrors, ReplayInsideACallableWithTooFewSlotsIsRefused) {
  if (device_count() < 2) { GTEST_SKIP() << "needs 2 devices"; }
  auto changed = options();
  changed.window = 64;
  start(changed);
  host_buffer<std::uint32_t> value = word(0);
  recording steps{rt()};
  auto const a = steps.add(step(value, 1, 1), {.device = first()});
  auto const b = steps.add(step(value, 1, 1), {.device = last(), .after = {a}});
  static_cast<void>(steps.add(step(value, 1, 1), {.device = first(), .after = {b}}));
  steps.finish();
  auto const fill = [&] {  // these tasks have no order, so they must not write `value`
    return rt()
        .try_submit(program().nothing.with_shape({1}, {1})(), {.device = first()})
        .has_value();
  };
  int free = 0;
  rt().submit(
          [&](task_context&) {
            while (fill()) { ++free; }
          },
          {.device = first()})
      .wait();
  rt().wait_idle();
  bool refused = false;
  rt().submit(
          [&](task_context&) {
            for (int i = 1; i < free && fill(); ++i) {}
            try {
              static_cast<void>(steps.replay());
            } catch (window_full const&) { refused = true; }
          },
          {.device = first()})
      .wait();
  EXPECT_TRUE(refused);
  rt().wait_idle();
  steps.replay().wait();
}

// requirement: a replay needs one slot for each of its graphs. It takes all these slots together,
// or none
TEST_P(RecordingErrors, ReplayWaitsWhileAWindowIsFull) {
  auto changed = options();
  changed.window = 64;
  start(changed);
  host_buffer<std::uint32_t> value = word(0);
  recording steps{rt()};
  recorded_task before = steps.add(step(value, 1, 1), {.device = first()});
  for (int i = 1; i < 10; ++i) {
    before =
        steps.add(step(value, 1, 1), {.device = i % 2 == 0 ? first() : last(), .after = {before}});
  }
  std::vector<std::jthread> team;
  for (int i = 0; i < 2; ++i) {
    team.emplace_back([&] {
      for (int k = 0; k < 100; ++k) { static_cast<void>(steps.replay()); }
    });
  }
  team.clear();
  rt().wait_idle();
  EXPECT_EQ(value[0], 2000u);
  held_word held{rt()};
  std::vector<ticket> open;
  while (auto accepted = rt().try_submit(held.launch_of(program()), {.device = last()})) {
    open.push_back(std::move(*accepted));
  }
  std::atomic<bool> refused{false};
  if (device_count() > 1) {
    ticket const inside = rt().submit(
        [&](task_context&) {
          try {
            static_cast<void>(steps.replay());
          } catch (window_full const&) { refused = true; }
        },
        {.device = first()});
    inside.wait();
    EXPECT_TRUE(refused);
  }
  held.release();
  rt().wait_idle();
  EXPECT_EQ(value[0], 2000u) << "a graph of the refused replay ran";
}

// requirement: a chain that changes between two devices any number of times needs one graph on each
// device, so it is not limited by the window
TEST_P(RecordingErrors, ChangesOfDeviceAreNotLimited) {
  auto changed = options();
  changed.window = 64;
  start(changed);
  host_buffer<std::uint32_t> value = word(0);
  recording steps{rt()};
  recorded_task before = steps.add(step(value, 1, 1), {.device = first()});
  for (int i = 1; i < 200; ++i) {
    before =
        steps.add(step(value, 1, 1), {.device = i % 2 == 0 ? first() : last(), .after = {before}});
  }
  steps.replay().wait();
  EXPECT_EQ(value[0], 200u);
}

// requirement: a replay fails if its predecessor failed. Arguments that were set before the failed
// replay still apply to later replays
TEST_P(RecordingErrors, FailedDependencyFailsOneReplay) {
  host_buffer<std::uint32_t> value = word(1);
  recording steps{rt()};
  auto const task = steps.add(step(value, 3, 1), {.device = last()});
  static_cast<void>(steps.add(step(value, 1, 0), {.device = first(), .after = {task}}));
  ticket const bad =
      rt().submit([](task_context&) { throw std::runtime_error{"the first cause"}; });
  static_cast<void>(ended(bad));
  steps.set(task, step(value, 5, 2));
  ticket const failed = steps.replay({.after = {bad}, .label = "fails"});
  EXPECT_THAT(thrown<dependency_failed>([&] { failed.wait(); }), HasSubstr("the first cause"));
  EXPECT_EQ(value[0], 1u);
  steps.replay().wait();
  EXPECT_EQ(value[0], 7u);
}

}  // namespace
}  // namespace flotilla::test
