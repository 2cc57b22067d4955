// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Deadlines of replays and of tasks of flows, and many deadlines while tasks are launched.

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "contract/deadline_fixture.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

class DeadlineOrder : public deadline_test {};
FLOTILLA_CONTRACT(DeadlineOrder);

// requirement: a replay of a recording with one graph never runs after its deadline. Later replays
// run
TEST_P(DeadlineOrder, AReplayHasOne) {
  device_word sum{rt(), last()};
  recording steps{rt()};
  steps.add(add(sum));
  launch_gate gate{rt(), program(), last()};
  ticket const late = steps.replay({.after = {gate.gate()}, .deadline = soon()});
  ticket const later = steps.replay();
  std::this_thread::sleep_for(40ms);  // the deadline must pass
  gate.open();
  EXPECT_THROW(late.wait(), timed_out);
  EXPECT_NO_THROW(later.wait());
  EXPECT_NO_THROW(steps.replay({.deadline = clock::now() + 1h}).wait());
  EXPECT_EQ(sum.read(), 2u);
}

// requirement: the arguments of a replay that never runs are for the next replay, and not for an
// earlier one that has not begun
TEST_P(DeadlineOrder, AReplayThatIsLateLeavesItsChangesToTheNext) {
  device_word before{rt(), last()}, after{rt(), last()};
  recording steps{rt()};
  recorded_task const task = steps.add(add(before));
  steps.finish();
  launch_gate gate{rt(), program(), last()};
  ticket const earlier = steps.replay({.after = {gate.gate()}});
  steps.set(task, add(after));
  ticket const late = steps.replay({.deadline = clock::now() - 1h});
  for (int i = 0; i < 20; ++i) {  // the device sees that it must not run `late`
    rt().pump();
    std::this_thread::sleep_for(1ms);
  }
  gate.open();
  EXPECT_NO_THROW(earlier.wait());
  EXPECT_THROW(late.wait(), timed_out);
  EXPECT_EQ(before.read(), 1u);
  EXPECT_EQ(after.read(), 0u);
  steps.replay().wait();
  EXPECT_EQ(before.read(), 1u);
  EXPECT_EQ(after.read(), 1u);
}

// requirement: a recording over several devices is not replayed with a deadline
TEST_P(DeadlineOrder, AReplayOverSeveralDevicesIsRefused) {
  if (device_count() == 1) { GTEST_SKIP() << "needs 2 devices"; }
  device_word here{rt(), first()}, there{rt(), last()};
  recording steps{rt()};
  recorded_task const one = steps.add(add(here));
  steps.add(add(there), {.after = {one}});
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)steps.replay({.deadline = soon()}); }),
              HasSubstr("over 2 devices"));
  EXPECT_NO_THROW(steps.replay().wait());
  EXPECT_EQ(there.read(), 1u);
}

// requirement: a task of a flow never runs after its deadline. The next task that uses the same
// data runs only after the tasks before it
TEST_P(DeadlineOrder, ATaskOfAFlowHasOne) {
  flow steps{rt()};
  token order{steps, "order"};
  latch begun, may_end;
  open_on_exit const opener{may_end};
  std::atomic<bool> ran{false}, came_too_early{false};
  ticket const slow = steps.submit(uses(update(order)), host_task([&] {
                                     begun.open();
                                     may_end.wait();
                                   }));
  std::jthread const driver{[&] { EXPECT_TRUE(pumping(rt(), [&] { return slow.ready(); })); }};
  begun.wait();
  ticket const late =
      steps.submit(uses(update(order)), host_task([&] { ran = true; }), {.deadline = soon()});
  ticket const next =
      steps.submit(uses(write(order)), host_task([&] { came_too_early = !may_end.is_open(); }));
  std::this_thread::sleep_for(40ms);  // the deadline must pass
  may_end.open();
  EXPECT_THROW(late.wait(), timed_out);
  EXPECT_NO_THROW(next.wait());
  EXPECT_FALSE(ran);
  EXPECT_FALSE(came_too_early);
}

// stress: every task runs once or times out, while threads launch tasks and the clock runs. No slot
// is lost
TEST_P(DeadlineOrder, EveryTaskRunsOrTimesOut) {
  auto changed = options();
  changed.window = 64;
  start(changed);
  device_word sum{rt(), last()}, chained{rt(), last()};
  std::uint32_t ran = 0, followed = 0, late = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<ticket> tasks, followers;
    for (int i = 0; i < 100; ++i) {
      auto const deadline = clock::now() + std::chrono::microseconds{i * round};
      tasks.push_back(rt().submit(add(sum), {.device = last(), .deadline = deadline}));
      followers.push_back(
          rt().submit(add(chained), {.after = {tasks.back()}, .deadline = deadline + 50us}));
    }
    auto const count = [&](std::vector<ticket> const& all, std::uint32_t& to) {
      for (ticket const& each : all) {
        try {
          each.wait();
          ++to;
        } catch (timed_out const&) { ++late; } catch (dependency_failed const&) {
        }
      }
    };
    count(tasks, ran);
    count(followers, followed);
  }
  rt().wait_idle();
  EXPECT_EQ(sum.read(), ran);
  EXPECT_EQ(chained.read(), followed);
  EXPECT_GE(late, 100u) << "in the first round all deadlines pass at once";
  std::vector<ticket> all;  // as many as the window has places
  held_word word{rt()};
  for (int i = 0; i < 64; ++i) {
    auto next = rt().try_submit(word.launch_of(program()), {.device = last()});
    for (int tries = 0; !next && tries < 1000; ++tries) {
      rt().pump();
      next = rt().try_submit(word.launch_of(program()), {.device = last()});
    }
    ASSERT_TRUE(next) << i;
    all.push_back(std::move(*next));
  }
  word.release();
  for (ticket const& each : all) { each.wait(); }
}

}  // namespace
}  // namespace flotilla::test
