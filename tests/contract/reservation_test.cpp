// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// `try_reserve`: places for several tasks, all or none.

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <flotilla/task/placement.hpp>
#include <flotilla/task/reservation.hpp>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class Reservation : public contract_test {
 protected:
  static constexpr std::size_t window = 64;
  void SetUp() override {
    contract_test::SetUp();
    if (IsSkipped()) { return; }
    auto changed = options();
    changed.window = window;
    start(changed);
    (void)program();
  }
  /// Waits until the whole window of `device` is free. The place of a task, even of a task of a
  /// buffer's constructor, can go back shortly after its ticket is ready.
  void await_empty_window(device_ordinal device) {
    ASSERT_TRUE(pumping(rt(), [&] { return try_reserve(rt(), {device, window}).has_value(); }));
  }
  /// Fills the window of `device` up to `left` places with tasks that wait for `word`.
  std::vector<ticket> fill(held_word& word, device_ordinal device, std::size_t left) {
    await_empty_window(device);
    std::vector<ticket> open;
    while (open.size() < window - left) {
      open.push_back(rt().submit(word.launch_of(program()), {.device = device}));
    }
    return open;
  }
  launch nothing() { return program().nothing.with_shape({1}, {1})(); }
};
FLOTILLA_CONTRACT(Reservation);

// requirement: a reservation takes all wanted places or none, and its submits are never refused
TEST_P(Reservation, TakesAllPlacesOrNone) {
  device_word value{rt(), last()};  // before the window is full
  held_word word{rt()};
  std::vector<ticket> const open = fill(word, last(), 3);
  EXPECT_FALSE(try_reserve(rt(), {last(), 4}));
  std::optional<reservation> three = try_reserve(rt(), {last(), 3});
  ASSERT_TRUE(three) << "the refused call kept places";
  EXPECT_EQ(three->left(), 3u);
  EXPECT_FALSE(rt().try_submit(nothing(), {.device = last()})) << "the places are reserved";
  EXPECT_FALSE(try_reserve(rt(), {last(), 1}));
  std::atomic<bool> ran{false};
  ticket const filled = three->submit(value.buffer().fill(4));
  ticket const added =
      three->submit(program().add.with_shape({1}, {1})(value.buffer(), 3u), {.after = {filled}});
  ticket const called =
      three->submit([&](task_context&) { ran = true; }, {.device = last(), .after = {added}});
  EXPECT_EQ(three->left(), 0u);
  word.release();
  called.wait();
  EXPECT_TRUE(ran);
  EXPECT_EQ(value.read({added}), 7u);
}

// requirement: if one window has too few places, no place of another window is taken
TEST_P(Reservation, OneFullWindowRefusesAllWindows) {
  if (device_count() < 2) { GTEST_SKIP() << "needs 2 devices"; }
  held_word word{rt()};
  std::vector<ticket> const open = fill(word, last(), 1);
  await_empty_window(first());
  std::array<reserved_tasks, 3> wanted{{{first(), window - 1}, {last(), 2}, {first(), 1}}};
  EXPECT_FALSE(try_reserve(rt(), wanted));
  wanted[1].tasks = 1;
  std::optional<reservation> const all = try_reserve(rt(), wanted);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->left(), window + 1);
  EXPECT_FALSE(rt().try_submit(nothing(), {.device = first()}));
}

// requirement: unused places go back when the reservation ends, is moved to or is replaced
TEST_P(Reservation, UnusedPlacesGoBack) {
  for (int i = 0; i < 3; ++i) {
    std::optional<reservation> all;
    ASSERT_TRUE(pumping(rt(), [&] {
      all = try_reserve(rt(), {last(), window});
      return all.has_value();
    }));
    all->submit(nothing(), {.device = last()}).wait();
    reservation moved = std::move(*all);
    EXPECT_EQ(moved.left(), window - 1);
    EXPECT_EQ(all->left(), 0u);
    EXPECT_THROW((void)all->submit(nothing(), {.device = last()}), invalid_argument);
    all.reset();
    EXPECT_FALSE(try_reserve(rt(), {last(), window}));
  }
  EXPECT_TRUE(pumping(rt(), [&] { return try_reserve(rt(), {last(), window}).has_value(); }));
}

// requirement: reserved places are no open tasks: pump, wait_idle and the destructor ignore them
TEST_P(Reservation, ReservedPlacesAreNoOpenTasks) {
  std::optional<reservation> some = try_reserve(rt(), {last(), 10});
  ASSERT_TRUE(some);
  EXPECT_TRUE(pumping(rt(), [&] { return !rt().pump(); }));
  held_word word{rt()};
  ticket const held = some->submit(word.launch_of(program()), {.device = last()});
  EXPECT_TRUE(rt().pump());
  word.release();
  rt().wait_idle();
  EXPECT_TRUE(held.ready());
  EXPECT_FALSE(rt().pump());
}

// requirement: a refused task leaves its place reserved, and a callable with the caller
TEST_P(Reservation, RefusedTaskKeepsThePlace) {
  std::optional<reservation> one = try_reserve(rt(), {last(), 1});
  ASSERT_TRUE(one);
  EXPECT_THROW((void)one->submit(program().nothing.with_shape({0}, {1})(), {.device = last()}),
               invalid_argument);
  EXPECT_THROW((void)one->submit(callable{}, {.device = last()}), invalid_argument);
  EXPECT_THROW((void)one->submit(nothing(), {.after = {ticket{}}}), invalid_argument);
  EXPECT_EQ(one->left(), 1u);
  one->submit(nothing(), {.device = last()}).wait();
  std::atomic<int> runs{0};
  callable mine = [&](task_context&) { ++runs; };
  EXPECT_THAT(thrown<invalid_argument>([&] {
                (void)one->submit(std::move(mine), {.device = last(), .label = "too much"});
              }),
              AllOf(HasSubstr("device " + std::to_string(last().value)), HasSubstr("too much")));
  EXPECT_TRUE(static_cast<bool>(mine)) << "the refused callable was moved from";
}

// requirement: a task needs a place of its own device
TEST_P(Reservation, PlacesBelongToTheirDevice) {
  if (device_count() < 2) { GTEST_SKIP() << "needs 2 devices"; }
  std::optional<reservation> one = try_reserve(rt(), {first(), 1});
  ASSERT_TRUE(one);
  EXPECT_THROW((void)one->submit(nothing(), {.device = last()}), invalid_argument);
  EXPECT_THROW((void)one->submit(nothing()), invalid_argument) << "any device may run this task";
  EXPECT_EQ(one->left(), 1u);
  one->submit(nothing(), {.device = first()}).wait();
}

// requirement: without a device, the places are for tasks that any device may run
TEST_P(Reservation, AnyDeviceMayRunTasks) {
  std::optional<reservation> some = try_reserve(rt(), {.tasks = 5});
  ASSERT_TRUE(some);
  std::vector<ticket> tasks;
  for (int i = 0; i < 5; ++i) { tasks.push_back(some->submit(nothing())); }
  EXPECT_THROW((void)some->submit(nothing()), invalid_argument);
  for (ticket const& each : tasks) { each.wait(); }
}

// requirement: impossible requests are refused with an error that says why
TEST_P(Reservation, ImpossibleRequestsAreRefused) {
  EXPECT_THAT(thrown<invalid_argument>([&] {
                (void)try_reserve(rt(), {last(), window + 1});
              }),
              HasSubstr("more than 64 places"));
  std::array<reserved_tasks, 2> const twice{{{last(), window}, {last(), 1}}};
  EXPECT_THROW((void)try_reserve(rt(), twice), invalid_argument);
  EXPECT_THROW((void)try_reserve(rt(), {last(), 0}), invalid_argument);
  EXPECT_THROW((void)try_reserve(rt(), std::span<reserved_tasks const>{}), invalid_argument);
  EXPECT_THROW((void)try_reserve(rt(), {device_ordinal{99}, 1}), unknown_device);
  auto changed = options();
  changed.placement = std::make_shared<round_robin>();
  runtime placed{changed};
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)try_reserve(placed, {.tasks = 1}); }),
              HasSubstr("placement"));
  EXPECT_TRUE(try_reserve(placed, {last(), 1}));
  rt().close();
  EXPECT_THROW((void)try_reserve(rt(), {last(), 1}), runtime_closed);
}

// requirement: places of tasks that have ended are found without any other thread
TEST_P(Reservation, PlacesOfEndedTasksAreFound) {
  for (int i = 0; i < 10; ++i) {
    std::optional<reservation> all;
    ASSERT_TRUE(eventually([&] {
      all = try_reserve(rt(), {last(), window});
      return all.has_value();
    }));
    while (all->left() != 0) { (void)all->submit(nothing(), {.device = last()}); }
  }
}

// requirement: inside a callable, a reservation neither waits nor throws window_full
TEST_P(Reservation, CallableMayReserve) {
  bool refused = false;
  std::vector<ticket> tasks;
  rt().submit(
          [&](task_context&) {
            refused = !try_reserve(rt(), {last(), window});  // the callable itself has one place
            auto some = try_reserve(rt(), {last(), window - 1});
            while (some && some->left() != 0) {
              tasks.push_back(some->submit(nothing(), {.device = last()}));
            }
          },
          {.device = last()})
      .wait();
  EXPECT_TRUE(refused);
  EXPECT_EQ(tasks.size(), window - 1);
  for (ticket const& each : tasks) { each.wait(); }
}

// requirement: several threads that reserve places lose no place and no task
TEST_P(Reservation, ManyThreadsLoseNothing) {
  constexpr unsigned groups = 60;
  device_word sum{rt(), first()};
  {
    std::vector<std::jthread> team;
    for (int t = 0; t < 4; ++t) {
      team.emplace_back([&] {
        for (unsigned i = 0; i < groups;) {
          auto some = try_reserve(rt(), {first(), 20});
          if (!some) {
            std::this_thread::yield();
            continue;
          }
          for (int k = 0; k < 17; ++k) {
            (void)some->submit(program().add.with_shape({1}, {1})(sum.buffer(), 1u));
          }
          ++i;
        }
      });
    }
  }
  rt().wait_idle();
  EXPECT_EQ(sum.read(), 4 * groups * 17);
  EXPECT_TRUE(pumping(rt(), [&] { return try_reserve(rt(), {first(), window}).has_value(); }));
}

}  // namespace
}  // namespace flotilla::test
