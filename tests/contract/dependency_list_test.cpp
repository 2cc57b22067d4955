// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// `dependency_list`: every way to make a list, long lists, and entries that are refused.

#include <array>
#include <span>
#include <vector>

#include "contract/recording_fixture.hpp"

namespace flotilla::test {
namespace {

// requirement: a list can be made from ranges of tickets, ids and recorded tasks; other types do
// not compile

static_assert(std::convertible_to<std::vector<ticket>&, dependency_list>);
static_assert(std::convertible_to<std::span<ticket const>, dependency_list>);
static_assert(std::convertible_to<std::vector<task_id>, dependency_list>);
static_assert(std::convertible_to<std::array<recorded_task, 3>, dependency_list>);
static_assert(!std::constructible_from<dependency_list, std::vector<int>>);
static_assert(!std::constructible_from<dependency_list, int>);

class DependencyList : public recording_test {
 protected:
  /// Submits a task to the last device. The task is open until `hold` is released.
  ticket held(held_word& hold) {
    return rt().submit(hold.launch_of(program()), {.device = last()});
  }
  /// Checks that a task with the predecessors `list` does not run before `hold` is released.
  void expect_ordered(held_word& hold, dependency_list list) {
    host_buffer<std::uint32_t> result = word(0);
    ticket const behind = rt().submit(program().write.with_shape({1}, {1})(result.data(), 1u),
                                      {.device = first(), .after = std::move(list)});
    ASSERT_TRUE(pumping(rt(), [&] { return hold.started(); }));
    for (int i = 0; i < 20; ++i) { rt().pump(); }
    EXPECT_FALSE(behind.ready());
    hold.release();
    behind.wait();
    EXPECT_EQ(result[0], 1u);
  }
};
FLOTILLA_CONTRACT(DependencyList);

// requirement: a task runs after every entry of its list. The list stores up to four entries inline
// and more entries in allocated memory
TEST_P(DependencyList, TaskRunsAfterEveryEntry) {
  std::vector<ticket> ended;
  for (int i = 0; i < 9; ++i) {
    ended.push_back(rt().submit([](task_context&) {}));
  }
  for (ticket const& each : ended) { each.wait(); }
  for (std::size_t const size : {1u, 2u, 4u, 5u, 6u, 9u}) {
    for (std::size_t const place : {std::size_t{0}, size / 2, size - 1}) {
      held_word hold{rt()};
      ticket const open = held(hold);
      dependency_list list;
      EXPECT_TRUE(list.empty());
      for (std::size_t i = 0; i < size; ++i) { list.add(i == place ? open : ended[i]); }
      EXPECT_EQ(list.size(), size);
      EXPECT_EQ(list.ids().size(), size);
      for (std::size_t i = 0; i < size; ++i) {
        EXPECT_EQ(list[i].slot, (i == place ? open : ended[i]).id().slot) << i;
        EXPECT_EQ(list.ids()[i].generation, (i == place ? open : ended[i]).id().generation) << i;
      }
      dependency_list const copy = list;
      list = {};
      EXPECT_TRUE(list.empty());
      expect_ordered(hold, copy);
    }
  }
}

// requirement
TEST_P(DependencyList, TicketsAndIdsMixInBraces) {
  ticket const ended = rt().submit([](task_context&) {});
  ended.wait();
  {
    held_word hold{rt()};
    ticket const open = held(hold);
    expect_ordered(hold, {ended, open.id()});
  }
  {
    held_word hold{rt()};
    ticket const open = held(hold);
    expect_ordered(hold, {ended.id(), open});
  }
  held_word hold{rt()};
  ticket const open = held(hold);
  expect_ordered(hold, {ended, ended.id(), ended, ended.id(), ended, open.id(), ended});
}

// requirement
TEST_P(DependencyList, RangesOfTicketsAndIdsAreTaken) {
  constexpr std::size_t counts[] = {1, 3, 7};
  for (std::size_t const count : counts) {
    for (int form = 0; form < 3; ++form) {
      held_word hold{rt()};
      std::vector<ticket> tasks;
      std::vector<task_id> ids;
      for (std::size_t i = 1; i < count; ++i) {
        tasks.push_back(rt().submit([](task_context&) {}, {.device = first()}));
        tasks.back().wait();
      }
      tasks.push_back(held(hold));
      for (ticket const& each : tasks) { ids.push_back(each.id()); }
      switch (form) {
        case 0: expect_ordered(hold, tasks); break;
        case 1: expect_ordered(hold, std::span<ticket const>{tasks}.last(1)); break;
        default: expect_ordered(hold, ids); break;
      }
    }
  }
}

// requirement: an id remains a valid predecessor after its ticket is destroyed
TEST_P(DependencyList, IdOrdersAfterItsTicketIsDropped) {
  held_word hold{rt()};
  task_id first_one, last_one;
  {
    ticket const open = held(hold);
    first_one = open.id();
    ticket const second = rt().submit(program().nothing.with_shape({1}, {1})(),
                                      {.device = first(), .after = {first_one}});
    last_one = second.id();
  }
  expect_ordered(hold, {last_one});
  // The ids stay valid long after the tasks have ended.
  rt().wait_idle();
  for (int i = 0; i < 200; ++i) {
    rt().submit([](task_context&) {}).wait();
  }
  rt().submit(program().nothing.with_shape({1}, {1})(), {.after = {first_one, last_one}}).wait();
}

// requirement: an entry that names no task of this runtime is refused, and the message contains the
// number of the entry
TEST_P(DependencyList, EntriesThatNameNoTaskOfTheRuntimeAreRefusedByNumber) {
  runtime other{options()};
  launch const nothing = program().nothing.with_shape({1}, {1})();
  ticket const good = rt().submit(nothing);
  ticket const foreign = other.submit([](task_context&) {});
  for (std::size_t const before : {0u, 1u, 3u, 4u, 6u}) {
    dependency_list list;
    for (std::size_t i = 0; i < before; ++i) { list.add(good); }
    auto const is_named = HasSubstr("entry " + std::to_string(before) + " ");
    dependency_list of_none = list, of_id = list, of_other = list;
    of_none.add(ticket{});
    of_id.add(task_id{});
    of_other.add(foreign.id());
    EXPECT_THAT(thrown<invalid_argument>([&] { (void)rt().submit(nothing, {.after = of_none}); }),
                is_named);
    EXPECT_THAT(thrown<invalid_argument>([&] { rt().post(nothing, {.after = of_id}); }), is_named);
    EXPECT_THAT(thrown<wrong_runtime>([&] { (void)rt().try_submit(nothing, {.after = of_other}); }),
                is_named);
  }
}

// requirement: `after` of a recorded task accepts only tasks of the same recording. `after` of a
// submit or a replay accepts only submitted tasks
TEST_P(DependencyList, RecordedAndSubmittedTasksAreNotMixed) {
  host_buffer<std::uint32_t> value = word(1);
  recording steps{rt()};
  recorded_task const one = steps.add(step(value, 3, 1));
  recorded_task const two = steps.add(step(value, 5, 2), {.after = {one}});
  ticket const submitted = rt().submit(program().nothing.with_shape({1}, {1})());
  launch const nothing = program().nothing.with_shape({1}, {1})();
  auto const of_recording = AllOf(HasSubstr("entry 1 "), HasSubstr("recording"));
  EXPECT_THAT(thrown<invalid_argument>([&] {
                (void)rt().submit(nothing, {.after = {submitted, one}});
              }),
              of_recording);
  EXPECT_THAT(thrown<invalid_argument>([&] {
                (void)rt().submit([](task_context&) {}, {.after = {submitted.id(), two}});
              }),
              of_recording);
  EXPECT_THAT(thrown<invalid_argument>([&] {
                rt().post(nothing, {.after = {submitted, two}});
              }),
              of_recording);
  EXPECT_THAT(thrown<invalid_argument>([&] {
                static_cast<void>(steps.replay({.after = {submitted, one}}));
              }),
              HasSubstr("entry 1 "));
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)wait_any(submitted, one); }),
              AllOf(HasSubstr("entry 1 "), HasSubstr("recorded")));
  EXPECT_THAT(thrown<invalid_argument>([&] {
                steps.add(step(value, 9, 9), {.after = {one, submitted}});
              }),
              AllOf(HasSubstr("entry 1 "), HasSubstr("submitted")));
  EXPECT_THAT(
      thrown<invalid_argument>([&] { steps.add(step(value, 9, 9), {.after = {submitted.id()}}); }),
      AllOf(HasSubstr("entry 0 "), HasSubstr("submitted")));
  EXPECT_THAT(thrown<invalid_argument>([&] {
                steps.add(step(value, 9, 9), {.after = {one, recorded_task{}}});
              }),
              AllOf(HasSubstr("entry 1 "), HasSubstr("no task")));
  EXPECT_EQ(steps.size(), 2u);
  steps.replay({.after = {submitted.id()}}).wait();
  EXPECT_EQ(value[0], 22u);
}

// requirement: a recorded task runs after every entry of its list, even if the list was made from a
// range or is long
TEST_P(DependencyList, RecordedTaskRunsAfterEveryEntry) {
  std::array<host_buffer<std::uint32_t>, 7> values;
  std::array<recorded_task, 7> tasks;
  recording steps{rt()};
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    values[i] = word(1);
    device_ordinal const device = i % 2 == 0 ? first() : last();
    recorded_task const two = steps.add(step(values[i], 3, 1), {.device = device});
    tasks[i] = steps.add(step(values[i], 5, static_cast<std::uint32_t>(i)),
                         {.device = device, .after = {two}});
  }
  recorded_task const joined =
      steps.add(program().nothing.with_shape({1}, {1})(), {.device = last(), .after = tasks});
  std::vector<recorded_task> const behind{joined};
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    steps.add(step(values[i], 2, 1), {.device = first(), .after = behind});
  }
  steps.replay().wait();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_EQ(values[i][0], 2 * (5 * 4 + static_cast<std::uint32_t>(i)) + 1) << i;
  }
}

}  // namespace
}  // namespace flotilla::test
