// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Recordings: tasks that are described once and replayed many times.

#include <flotilla/task/coroutine.hpp>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "contract/recording_fixture.hpp"

namespace flotilla::test {
namespace {

class Recording : public recording_test {};
FLOTILLA_CONTRACT(Recording);

// requirement
TEST_P(Recording, EveryReplayRunsAChainInOrder) {
  device_word value{rt(), last(), 1};
  recording steps{rt()};
  recorded_task before;
  for (std::uint32_t i = 0; i < 100; ++i) {
    launch const each = program().step.with_shape({1}, {1})(value.buffer(), 3u, i);
    before = i == 0 ? steps.add(each) : steps.add(each, {.after = {before}});
  }
  EXPECT_EQ(steps.size(), 100u);
  std::uint32_t expected = 1;
  for (int round = 0; round < 4; ++round) {
    steps.replay().wait();
    for (std::uint32_t i = 0; i < 100; ++i) { expected = expected * 3 + i; }
    EXPECT_EQ(value.read(), expected);
  }
}

// requirement: replays of a recording run one after another, even if the host does not wait between
// the calls of `replay`
TEST_P(Recording, ReplaysRunOneAfterAnother) {
  host_buffer<std::uint32_t> value = word(1);
  recording steps{rt()};
  auto const first_step = steps.add(step(value, 3, 1), {.device = first()});
  auto const second_step = steps.add(step(value, 5, 2), {.device = last(), .after = {first_step}});
  static_cast<void>(steps.add(step(value, 7, 3), {.device = first(), .after = {second_step}}));
  steps.finish();
  ticket done;
  std::uint32_t expected = 1;
  for (int i = 0; i < 50; ++i) {
    done = steps.replay();
    expected = ((expected * 3 + 1) * 5 + 2) * 7 + 3;
  }
  done.wait();
  EXPECT_EQ(value[0], expected);
}

// requirement: `after` orders recorded tasks across devices in both directions
TEST_P(Recording, ChainCrossesDevicesInBothDirections) {
  host_buffer<std::uint32_t> value = word(1);
  recording steps{rt()};
  recorded_task before;
  std::uint32_t expected = 1;
  constexpr std::uint32_t links = 40;
  for (std::uint32_t i = 0; i < links; ++i) {
    recorded_options how{.device = ordinals()[i % ordinals().size()]};
    if (i != 0) { how.after = {before}; }
    before = steps.add(step(value, 3, i), how);
  }
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < links; ++i) { expected = expected * 3 + i; }
    steps.replay().wait();
    EXPECT_EQ(value[0], expected) << round;
  }
}

// requirement: if a recording has many independent tasks on every device, a replay runs each task
// once. The ticket of the replay becomes ready after all tasks have ended
TEST_P(Recording, ManyIndependentTasksRunOnceEach) {
  constexpr unsigned tasks = 300;
  auto const count = program().loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  std::vector<device_buffer<std::uint32_t>> counters;
  recording steps{rt()};
  for (device_ordinal const device : ordinals()) {
    counters.emplace_back(rt(), device, tasks);
    rt().submit(counters.back().fill(0)).wait();
    for (unsigned i = 0; i < tasks; ++i) {
      static_cast<void>(steps.add(count.with_shape({1}, {1})(counters.back(), i)));
    }
  }
  for (std::uint32_t round = 1; round <= 2; ++round) {
    ticket const done = steps.replay();
    for (auto const& each : counters) {
      std::vector<std::uint32_t> host(tasks);
      rt().submit(each.copy_to(host), {.after = {done}}).wait();
      EXPECT_EQ(host, std::vector<std::uint32_t>(tasks, round));
    }
  }
}

// requirement: threads may replay a recording while other threads set its tasks, even if the
// recording has never been replayed before
TEST_P(Recording, SeveralThreadsReplayAndSet) {
  constexpr int threads = 4, times = 25;
  host_buffer<std::uint32_t> value = word(0);
  recording steps{rt()};
  // The steps are not atomic. If two replays ran at the same time, some updates would be lost.
  auto const one = steps.add(step(value, 1, 1), {.device = first()});
  static_cast<void>(steps.add(step(value, 1, 1), {.device = last(), .after = {one}}));
  std::vector<std::jthread> team;
  for (int i = 0; i < threads; ++i) {
    team.emplace_back([&] {
      for (int k = 0; k < times; ++k) {
        ticket const done = steps.replay();
        steps.set(one, step(value, 1, 1));
        if (k % 5 == 0) { done.wait(); }
      }
    });
  }
  team.clear();
  rt().wait_idle();
  EXPECT_EQ(value[0], 2u * threads * times);
}

// requirement: many recordings over the same devices may be replayed at the same time. If parts
// that wait for their turn counted as tasks that wait for room, the part that ends the turn would
// be stuck behind them
TEST_P(Recording, ManyAreReplayedAtOnce) {
  constexpr unsigned count = 160;
  host_buffer<std::uint32_t> values{rt(), count};
  std::vector<recording> all;
  for (unsigned i = 0; i < count; ++i) {
    values[i] = 1;
    recording& one = all.emplace_back(rt());
    device_ordinal const begin = i % 2 == 0 ? first() : last();
    device_ordinal const end = i % 2 == 0 ? last() : first();
    launch const what = program().step.with_shape({1}, {1})(values.data() + i, 3u, 1u);
    recorded_task const ahead = one.add(what, {.device = begin});
    static_cast<void>(one.add(what, {.device = end, .after = {ahead}}));
    one.finish();
  }
  std::vector<std::jthread> team;
  for (unsigned k = 0; k < 2; ++k) {
    team.emplace_back([&, k] {
      for (unsigned i = k; i < count; i += 2) { static_cast<void>(all[i].replay()); }
    });
  }
  team.clear();
  rt().wait_idle();
  for (unsigned i = 0; i < count; ++i) { EXPECT_EQ(values[i], 13u) << i; }
}

// requirement: a callable may wait for a replay while replays that use its own device are submitted
TEST_P(Recording, ACallableMayWaitForAReplayOfOtherDevices) {
  if (device_count() < 3) { GTEST_SKIP() << "needs 3 devices"; }
  host_buffer<std::uint32_t> values{rt(), 2};
  values[0] = values[1] = 1;
  device_ordinal const middle{1};
  auto const over = [&](std::uint32_t* word, device_ordinal one, device_ordinal other) {
    recording made{rt()};
    launch const what = program().step.with_shape({1}, {1})(word, 3u, 1u);
    recorded_task const ahead = made.add(what, {.device = one});
    static_cast<void>(made.add(what, {.device = other, .after = {ahead}}));
    made.finish();
    return made;
  };
  recording with_middle = over(values.data(), first(), middle);
  recording without = over(values.data() + 1, first(), last());
  ticket const done = rt().submit(
      [&](task_context&) {
        for (int i = 0; i < 20; ++i) {
          static_cast<void>(with_middle.replay());
          without.replay().wait();
        }
      },
      {.device = middle});
  done.wait();
  rt().wait_idle();
  std::uint32_t expected = 1;
  for (int i = 0; i < 40; ++i) { expected = expected * 3 + 1; }
  EXPECT_EQ(values[0], expected);
  EXPECT_EQ(values[1], expected);
}

struct coroutine {
  struct promise_type {
    coroutine get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};
coroutine await(recording& steps, std::atomic<int>& done) {
  co_await steps.replay({.label = "awaited"});
  ++done;
}

// requirement: the ticket of a replay works with `after`, `co_await` and `then`
TEST_P(Recording, TicketOfAReplayIsAnOrdinaryTicket) {
  device_word value{rt(), last(), 1};
  recording steps{rt()};
  static_cast<void>(steps.add(program().step.with_shape({1}, {1})(value.buffer(), 3u, 1u)));
  ticket const done = steps.replay({.label = "first"});
  ticket const again = rt().submit(value.buffer().fill(10), {.after = {done}});
  ticket const replayed = steps.replay({.after = {again}});
  ticket const successor = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 1u),
                                       {.after = {replayed}});
  EXPECT_EQ(value.read({successor}), 63u);
  std::atomic<int> seen{0};
  await(steps, seen);
  steps.replay().then([&](std::exception_ptr why) {
    EXPECT_EQ(why, nullptr);
    ++seen;
  });
  EXPECT_TRUE(pumping(rt(), [&] { return seen == 2; }));
}

// requirement: open replays still run after their recording is destroyed
TEST_P(Recording, RecordingMayEndBeforeItsReplays) {
  host_buffer<std::uint32_t> value = word(1);
  held_word held{rt()};
  ticket done;
  {
    recording steps{rt()};
    auto const task = steps.add(step(value, 3, 1), {.device = last()});
    ticket const head = rt().submit(held.launch_of(program()), {.device = last()});
    static_cast<void>(steps.replay({.after = {head}}));
    steps.set(task, step(value, 5, 2));
    done = steps.replay();
  }
  rt().pump();
  EXPECT_FALSE(done.ready());
  held.release();
  done.wait();
  EXPECT_EQ(value[0], (1u * 3 + 1) * 5 + 2);
}

// requirement
TEST_P(Recording, RecordingMoves) {
  host_buffer<std::uint32_t> value = word(1);
  recording from{rt()};
  auto const task = from.add(step(value, 3, 1));
  recording to{std::move(from)};
  to.set(task, step(value, 5, 2));
  to.replay().wait();
  EXPECT_EQ(value[0], 7u);
  EXPECT_THROW(static_cast<void>(from.replay()), invalid_argument);  // NOLINT: moved from
  to = recording{rt()};
  EXPECT_THROW(to.set(task, step(value, 5, 2)), invalid_argument);
}

// requirement: a callable may call `set` and `replay`, even if the recording has tasks on the
// callable's own device
TEST_P(Recording, CallableMaySetAndReplay) {
  host_buffer<std::uint32_t> value = word(1);
  recording steps{rt()};
  auto const task = steps.add(step(value, 3, 1), {.device = first()});
  ticket replayed;
  rt().submit([&](task_context&) { replayed = steps.replay(); }, {.device = first()}).wait();
  replayed.wait();
  EXPECT_EQ(value[0], 4u);
  rt().submit(
          [&](task_context&) {
            steps.set(task, step(value, 5, 2));
            replayed = steps.replay();
          },
          {.device = last()})
      .wait();
  replayed.wait();
  EXPECT_EQ(value[0], 22u);
}

}  // namespace
}  // namespace flotilla::test
