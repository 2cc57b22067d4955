// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// `wait_any`, and host tasks that wait for several tasks.

#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include <flotilla/task/wait_any.hpp>

#include "contract/continuation.hpp"
#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class WaitSeveral : public contract_test {};
FLOTILLA_CONTRACT(WaitSeveral);

// requirement: a host task that does nothing ends with the last of its predecessors
TEST_P(WaitSeveral, AHostTaskEndsAfterAllOfThem) {
  held_word word{rt()};
  dependency_list behind;
  for (device_ordinal const each : ordinals()) {
    for (int i = 0; i < 20; ++i) {
      behind.add(rt().submit(program().nothing.with_shape({1}, {1})(), {.device = each}));
    }
  }
  behind.add(rt().submit(word.launch_of(program()), {.device = last()}));
  ticket const all = rt().submit(host_task([] {}), {.after = behind});
  EXPECT_FALSE(all.wait_for(std::chrono::milliseconds{2}));
  word.release();
  all.wait();
}

// requirement
TEST_P(WaitSeveral, WaitAnyReturnsTheFirstTaskThatEnds) {
  // A CPU device runs one kernel at a time, so the second task needs another device.
  if (device_count() < 2) { GTEST_SKIP() << "needs 2 devices"; }
  held_word word{rt()};
  std::vector<ticket> tasks;
  tasks.push_back(rt().submit(word.launch_of(program()), {.device = last()}));
  EXPECT_EQ(wait_any_for(tasks, std::chrono::milliseconds{2}), std::nullopt);
  tasks.push_back(rt().submit([](task_context&) { throw my_error{}; }, {.device = first()}));
  EXPECT_EQ(wait_any(tasks), 1u);
  EXPECT_THROW(tasks[1].wait(), my_error);
  word.release();
  tasks.pop_back();
  EXPECT_EQ(wait_any_for(tasks, test_timeout), 0u);
  EXPECT_EQ(wait_any_until(tasks, std::chrono::steady_clock::now()), 0u);
}

// requirement: a timed wait may be longer than the clock can tell, or infinite
TEST_P(WaitSeveral, ATimedWaitMayBeVeryLong) {
  using namespace std::chrono;
  constexpr duration<double> forever{std::numeric_limits<double>::infinity()};
  auto const waits = [&](auto const& wait) {
    held_word word{rt()};
    ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
    std::jthread const releaser{[&] {
      std::this_thread::sleep_for(2ms);
      word.release();
    }};
    return wait(held);
  };
  EXPECT_TRUE(waits([](ticket const& held) { return held.wait_for(hours::max()); }));
  EXPECT_TRUE(waits([](ticket const& held) { return held.wait_for(nanoseconds::max()); }));
  EXPECT_TRUE(waits([&](ticket const& held) { return held.wait_for(forever); }));
  EXPECT_TRUE(waits([](ticket const& held) {
    return wait_any_for(dependency_list{held}, hours::max()).has_value();
  }));
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  EXPECT_FALSE(held.wait_for(hours::min()));
  EXPECT_FALSE(held.wait_for(-forever));
  word.release();
}

// requirement: `wait_any` waits for ids whose tickets have been destroyed
TEST_P(WaitSeveral, IdsOfDroppedTicketsAreWaitedFor) {
  held_word word{rt()};
  task_id const held = rt().submit(word.launch_of(program()), {.device = last()}).id();
  std::vector<task_id> const ids(6, held);
  EXPECT_EQ(wait_any_for(ids, std::chrono::milliseconds{1}), std::nullopt);
  EXPECT_EQ(wait_any_until({held}, std::chrono::steady_clock::now()), std::nullopt);
  word.release();
  // All ids name the same task. The task may end while `wait_any` checks the ids in turn, so the
  // result may be any index.
  EXPECT_LT(wait_any(ids), ids.size());
  EXPECT_EQ(wait_any(ids), 0u);
}

// requirement
TEST_P(WaitSeveral, WaitAnyTakesTicketsAndIds) {
  ticket const ended = rt().submit([](task_context&) {});
  ended.wait();
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  EXPECT_EQ(wait_any(held, ended), 1u);
  EXPECT_EQ(wait_any(ended, held), 0u);
  EXPECT_EQ(wait_any(held, held.id(), ended.id()), 2u);
  EXPECT_EQ(wait_any(std::vector<task_id>{held.id(), held.id(), held.id(), held.id(), held.id(),
                                          ended.id(), held.id()}),
            5u);
  EXPECT_EQ(wait_any_for({held, ended.id()}, test_timeout), 1u);
  EXPECT_EQ(wait_any_until({held.id(), ended}, std::chrono::steady_clock::now()), 1u);
  EXPECT_EQ(wait_any_for({held, held.id()}, std::chrono::milliseconds{1}), std::nullopt);
}

// requirement
TEST_P(WaitSeveral, EmptyListIsRefused) {
  auto const now = std::chrono::steady_clock::now();
  EXPECT_THROW((void)wait_any(std::vector<task_id>{}), invalid_argument);
  EXPECT_THROW((void)wait_any({}), invalid_argument);
  EXPECT_THROW((void)wait_any_until(dependency_list{}, now), invalid_argument);
  EXPECT_THROW((void)wait_any_for(dependency_list{}, std::chrono::seconds{1}), invalid_argument);
}

// requirement: all tasks of a destroyed runtime have ended
TEST_P(WaitSeveral, IdsOfAnEndedRuntimeAreDone) {
  std::vector<task_id> ids;
  {
    runtime ending{options()};
    for (int i = 0; i < 6; ++i) {
      ids.push_back(ending.submit([](task_context&) {}).id());
    }
  }
  EXPECT_EQ(wait_any(ids), 0u);
  EXPECT_EQ(wait_any_until(ids, std::chrono::steady_clock::now()), 0u);
  // The ids stay valid even if a new runtime has the same address as the destroyed runtime.
  ticket const live = rt().submit([](task_context&) {});
  EXPECT_THAT(thrown<wrong_runtime>([&] { (void)wait_any(ids[0], live); }), HasSubstr("entry 1 "));
  EXPECT_THAT(thrown<wrong_runtime>([&] { (void)wait_any(live, live, ids[1]); }),
              HasSubstr("entry 2 "));
}

// requirement: an empty id is refused, and the message contains the number of the entry
TEST_P(WaitSeveral, IdsThatNameNoTaskAreRefusedByNumber) {
  ticket const good = rt().submit([](task_context&) {});
  for (std::size_t const before : {0u, 2u, 4u, 5u}) {
    std::vector<task_id> ids(before, good.id());
    ids.push_back(task_id{});
    auto const is_named = HasSubstr("entry " + std::to_string(before) + " ");
    EXPECT_THAT(thrown<invalid_argument>([&] { (void)wait_any(ids); }), is_named);
    EXPECT_THAT(thrown<invalid_argument>([&] { (void)wait_any_for(ids, std::chrono::seconds{1}); }),
                is_named);
  }
}

// requirement: inside a callable, which the tasks may need, the wait is refused
TEST_P(WaitSeveral, WaitAnyInsideACallableIsRefused) {
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  ticket const inside = rt().submit(
      [&](task_context&) {
        EXPECT_THROW((void)wait_any(held), would_deadlock);
        word.release();
      },
      {.device = first()});
  inside.wait();
}

// requirement: the same task may occur several times. `wait_any` returns when it ends, and then
// returns the first entry
TEST_P(WaitSeveral, SameTaskSeveralTimes) {
  held_word word{rt()};
  ticket const task = rt().submit(word.launch_of(program()), {.device = last()});
  std::vector<task_id> const ids(3, task.id());
  auto const soon = [] { return std::chrono::milliseconds{1}; };
  EXPECT_EQ(wait_any_for({task, task}, soon()), std::nullopt);
  EXPECT_EQ(wait_any_for(ids, soon()), std::nullopt);
  word.release();
  task.wait();
  EXPECT_EQ(wait_any(task, task), 0u);
  EXPECT_EQ(wait_any(ids), 0u);
}

}  // namespace
}  // namespace flotilla::test
