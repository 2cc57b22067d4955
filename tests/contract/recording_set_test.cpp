// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Changes of recorded tasks between replays.

#include <algorithm>
#include <vector>

#include "contract/recording_fixture.hpp"

namespace flotilla::test {
namespace {

class RecordingSet : public recording_test {};
FLOTILLA_CONTRACT(RecordingSet);

// requirement: `set` changes the arguments of later replays, but not of a replay that is already
// submitted
TEST_P(RecordingSet, ChangedArgumentsApplyFromTheNextReplayOn) {
  host_buffer<std::uint32_t> value = word(0);
  held_word held{rt()};
  recording digits{rt()};
  auto const digit = digits.add(step(value, 10, 1), {.device = last()});
  ticket const head = rt().submit(held.launch_of(program()), {.device = first()});
  std::vector<ticket> replays;
  replays.push_back(digits.replay({.after = {head}}));
  for (std::uint32_t i = 2; i <= 9; ++i) {
    digits.set(digit, step(value, 99, 99));  // the next call of `set` overrides this
    digits.set(digit, step(value, 10, i));
    replays.push_back(digits.replay());
  }
  EXPECT_EQ(value[0], 0u);
  held.release();
  for (ticket const& each : replays) { each.wait(); }
  EXPECT_EQ(value[0], 123456789u);
  digits.replay().wait();
  EXPECT_EQ(value[0], 1234567899u) << "a replay must keep the arguments of the previous replay";
}

// requirement: `set` may change a task's kernel, before and after the graphs are created
TEST_P(RecordingSet, TaskMayBecomeAnotherKernel) {
  host_buffer<std::uint32_t> value = word(3);
  recording steps{rt()};
  auto const task = steps.add(program().nothing.with_shape({1}, {1})(), {.device = last()});
  steps.set(task, step(value, 2, 1));
  steps.replay().wait();
  EXPECT_EQ(value[0], 7u);
  steps.set(task, program().write.with_shape({1}, {1})(value.data(), 50u));
  steps.replay().wait();
  EXPECT_EQ(value[0], 50u);
  steps.set(task, program().nothing.with_shape({1}, {1})());
  steps.replay().wait();
  EXPECT_EQ(value[0], 50u);
}

// requirement: every replay uses the kernels, arguments, grids and blocks that were set before it.
// The test changes arguments and grids before most replays. Before the last replays it also changes
// kernels and blocks
TEST_P(RecordingSet, EveryReplayRunsAsItWasSet) {
  constexpr std::uint32_t tasks = 100, replays = 60;
  host_buffer<std::uint32_t> counters{rt(), tasks};
  std::fill_n(counters.data(), tasks, 0u);
  auto const adding = [&](std::uint32_t task, std::uint32_t amount, std::uint32_t blocks,
                          std::uint32_t threads = 1) {
    return program().add.with_shape({blocks}, {threads})(counters.data() + task, amount);
  };
  recording steps{rt()};
  std::vector<recorded_task> recorded;
  // `each` is the amount that one replay adds to each counter, and `expected` has the expected
  // values of the counters.
  std::vector<std::uint32_t> each(tasks), expected(tasks, 0);
  for (std::uint32_t i = 0; i < tasks; ++i) {
    // The tasks form chains of ten, so the graphs have edges.
    recorded_options options{.device = i % 10 == 0 || i % 20 > 10 ? first() : last()};
    if (i % 10 != 0) { options.after.add(recorded.back()); }
    recorded.push_back(steps.add(adding(i, i, 1), options));
    each[i] = i;
  }
  ticket end;
  for (std::uint32_t replay = 0; replay < replays; ++replay) {
    for (std::uint32_t i = replay % 7; replay % 5 != 0 && i < tasks; i += 1 + replay % 3) {
      std::uint32_t const blocks = 1 + (replay / 2 + i) % 2;
      bool const other = replay > 50 && i % 9 == 0;
      bool const threads = replay > 55 && i % 9 == 1;
      each[i] = other ? 0 : blocks * (replay + i) * (threads ? 2 : 1);
      if (other) {
        steps.set(recorded[i], program().nothing.with_shape({1}, {1})());
      } else {
        steps.set(recorded[i], adding(i, replay + i, blocks, threads ? 2 : 1));
      }
    }
    end = steps.replay();
    for (std::uint32_t i = 0; i < tasks; ++i) { expected[i] += each[i]; }
    if (replay % 20 != 19) { continue; }
    end.wait();
    for (std::uint32_t i = 0; i < tasks; ++i) {
      ASSERT_EQ(counters[i], expected[i]) << i << ", replay " << replay;
    }
  }
}

// requirement: arguments that are too large to be stored inside a launch arrive in every replay
TEST_P(RecordingSet, LargeArgumentsArrive) {
  auto const sum = program().loaded.kernel<words_4088, std::uint32_t*>("sum_4088");
  host_buffer<std::uint32_t> out = word(0);
  words_4088 values{};
  recording steps{rt()};
  auto const task = steps.add(sum.with_shape({1}, {1})(values, out.data()));
  for (std::uint32_t round = 0; round < 3; ++round) {
    std::uint32_t expected = 0;
    for (std::uint32_t i = 0; i < 1022; ++i) {
      values.word[i] = i * 7 + round;
      expected += values.word[i] * (i + 1);
    }
    steps.set(task, sum.with_shape({1}, {1})(values, out.data()));
    steps.replay().wait();
    EXPECT_EQ(out[0], expected);
  }
}

// requirement: copies, fills and launches of a recording run in order. `set` can change copies and
// fills
TEST_P(RecordingSet, CopiesAndFillsRunInOrder) {
  device_buffer<std::uint32_t> there{rt(), last(), 4}, beside{rt(), last(), 4};
  host_buffer<std::uint32_t> in{rt(), 4}, out{rt(), 4}, other{rt(), 4};
  for (std::uint32_t i = 0; i < 4; ++i) {
    in[i] = 10 + i;
    out[i] = other[i] = 0;
  }
  recording steps{rt()};
  auto const up = steps.add(there.copy_from(in));
  auto const counted = steps.add(program().add.with_shape({1}, {1})(there, 5u), {.after = {up}});
  auto const over = steps.add(there.copy_to(beside), {.after = {counted}});
  auto const fill = steps.add(there.fill(7), {.after = {over}});
  auto const down = steps.add(beside.copy_to(out), {.after = {over}});
  auto const values = [](host_buffer<std::uint32_t> const& from) {
    return std::vector<std::uint32_t>(from.begin(), from.end());
  };
  auto const read = [&](device_buffer<std::uint32_t> const& from) {
    std::vector<std::uint32_t> host(4);
    rt().submit(from.copy_to(host)).wait();
    return host;
  };
  steps.replay().wait();
  EXPECT_EQ(values(out), (std::vector<std::uint32_t>{15, 11, 12, 13}));
  EXPECT_EQ(read(there), std::vector<std::uint32_t>(4, 7));
  steps.set(fill, there.fill(9));
  steps.set(down, beside.copy_to(other));
  in[3] = 99;
  steps.replay().wait();
  EXPECT_EQ(values(other), (std::vector<std::uint32_t>{15, 11, 12, 99}));
  EXPECT_EQ(values(out), (std::vector<std::uint32_t>{15, 11, 12, 13}));
  EXPECT_EQ(read(there), std::vector<std::uint32_t>(4, 9));
}

}  // namespace
}  // namespace flotilla::test
