// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// `when_all` and `wait_any`, which wait for several tasks.

#include <atomic>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include <flotilla/task/completion.hpp>

#include "contract/continuation.hpp"
#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class WaitSeveral : public contract_test {};
FLOTILLA_CONTRACT(WaitSeveral);

// requirement
TEST_P(WaitSeveral, WhenAllEndsWithTheLastTask) {
  held_word word{rt()};
  std::vector<ticket> tasks;
  for (device_ordinal const each : ordinals()) {
    for (int i = 0; i < 20; ++i) {
      tasks.push_back(rt().submit(program().nothing.with_shape({1}, {1})(), {.device = each}));
    }
  }
  tasks.push_back(rt().submit(word.launch_of(program()), {.device = last()}));
  completion const all = when_all(tasks);
  EXPECT_FALSE(all.wait_for(std::chrono::milliseconds{2}));
  std::atomic<int> ran{0};
  completion const after =
      all.then([&](std::exception_ptr why) { ran += message_of(why) == "none" ? 1 : 100; });
  tasks.clear();
  word.release();
  after.wait();
  all.wait();
  EXPECT_EQ(ran, 1);
}

// requirement: if a task fails, `when_all` ends only after all tasks, and has the error of the
// failed task
TEST_P(WaitSeveral, WhenAllEndsWithTheErrorOfATask) {
  std::vector<ticket> tasks;
  tasks.push_back(rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()}));
  tasks.push_back(rt().submit([](task_context&) { throw my_error{}; }, {.device = first()}));
  tasks.push_back(rt().submit(program().nothing.with_shape({1}, {1})(), {.device = first()}));
  completion const all = when_all(tasks);
  EXPECT_THROW(all.wait(), my_error);
  for (ticket const& each : tasks) { EXPECT_TRUE(each.ready()); }
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
  EXPECT_TRUE(waits([](ticket const& held) { return when_all(held).wait_for(seconds::max()); }));
  EXPECT_TRUE(waits([](ticket const& held) {
    return wait_any_for(dependency_list{held}, hours::max()).has_value();
  }));
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  EXPECT_FALSE(held.wait_for(hours::min()));
  EXPECT_FALSE(held.wait_for(-forever));
  word.release();
}

// requirement: `when_all` takes any mix of tickets and ids and waits for each of them
TEST_P(WaitSeveral, WhenAllTakesTicketsAndIds) {
  for (std::size_t place = 0; place < 3; ++place) {
    held_word word{rt()};
    std::vector<ticket> tasks;
    for (std::size_t i = 0; i < 3; ++i) {
      if (i != place) {
        tasks.push_back(rt().submit([](task_context&) {}));
      }
    }
    for (ticket const& each : tasks) { each.wait(); }
    tasks.insert(tasks.begin() + static_cast<std::ptrdiff_t>(place),
                 rt().submit(word.launch_of(program()), {.device = last()}));
    std::vector<task_id> ids;
    for (ticket const& each : tasks) { ids.push_back(each.id()); }
    completion const mixed = when_all(tasks[0], ids[1], tasks[2]);
    completion const of_ids = when_all(ids);
    completion const in_braces = when_all({ids[0], tasks[1], ids[2]});
    ticket const held = std::move(tasks[place]);
    for (completion const* each : {&mixed, &of_ids, &in_braces}) {
      EXPECT_FALSE(each->wait_for(std::chrono::milliseconds{1}));
    }
    word.release();
    mixed.wait();
    of_ids.wait();
    in_braces.wait();
    EXPECT_TRUE(held.ready());
  }
}

// requirement: `when_all` and `wait_any` wait for ids whose tickets have been destroyed
TEST_P(WaitSeveral, IdsOfDroppedTicketsAreWaitedFor) {
  held_word word{rt()};
  task_id const held = rt().submit(word.launch_of(program()), {.device = last()}).id();
  std::vector<task_id> const ids(6, held);
  completion const all = when_all(ids);
  EXPECT_FALSE(all.wait_for(std::chrono::milliseconds{1}));
  EXPECT_EQ(wait_any_for(ids, std::chrono::milliseconds{1}), std::nullopt);
  EXPECT_EQ(wait_any_until({held}, std::chrono::steady_clock::now()), std::nullopt);
  word.release();
  // All ids name the same task. The task may end while `wait_any` checks the ids in turn, so the
  // result may be any index.
  EXPECT_LT(wait_any(ids), ids.size());
  EXPECT_EQ(wait_any(ids), 0u);
  all.wait();
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

// requirement: `when_all` of an empty list is ready at once; `wait_any` refuses an empty list
TEST_P(WaitSeveral, EmptyListIsDoneForWhenAllAndRefusedByWaitAny) {
  when_all(std::vector<task_id>{}).wait();
  EXPECT_TRUE(when_all(std::vector<ticket>{}).ready());
  auto const now = std::chrono::steady_clock::now();
  EXPECT_THROW((void)wait_any(std::vector<task_id>{}), invalid_argument);
  EXPECT_THROW((void)wait_any_until(dependency_list{}, now), invalid_argument);
  EXPECT_THROW((void)wait_any_for(dependency_list{}, std::chrono::seconds{1}), invalid_argument);
}

// requirement: `when_all` and `wait_any` treat all tasks of a destroyed runtime as ended
TEST_P(WaitSeveral, IdsOfAnEndedRuntimeAreDone) {
  std::vector<task_id> ids;
  {
    runtime ending{options()};
    for (int i = 0; i < 6; ++i) {
      ids.push_back(ending.submit([](task_context&) {}).id());
    }
  }
  completion const all = when_all(ids);
  EXPECT_TRUE(all.ready());
  all.wait();
  bool ran = false;
  all.then([&](std::exception_ptr why) { ran = why == nullptr; }).wait();
  EXPECT_TRUE(ran);
  EXPECT_EQ(wait_any(ids), 0u);
  EXPECT_EQ(wait_any_until(ids, std::chrono::steady_clock::now()), 0u);
  // The ids stay valid even if a new runtime has the same address as the destroyed runtime.
  ticket const live = rt().submit([](task_context&) {});
  EXPECT_TRUE(when_all(ids).ready());
  EXPECT_THAT(thrown<wrong_runtime>([&] { (void)when_all(ids[0], live); }), HasSubstr("entry 1 "));
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
    EXPECT_THAT(thrown<invalid_argument>([&] { (void)when_all(ids); }), is_named);
    EXPECT_THAT(thrown<invalid_argument>([&] { (void)wait_any(ids); }), is_named);
    EXPECT_THAT(thrown<invalid_argument>([&] { (void)wait_any_for(ids, std::chrono::seconds{1}); }),
                is_named);
  }
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
  completion const all = when_all(task, task, task.id());
  EXPECT_FALSE(all.ready());
  word.release();
  all.wait();
  EXPECT_EQ(wait_any(task, task), 0u);
  EXPECT_EQ(wait_any(ids), 0u);
}

}  // namespace
}  // namespace flotilla::test
