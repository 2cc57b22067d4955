// Recordings: tasks that are described once and replayed.

#include <flotilla/coroutine.hpp>

#include <atomic>
#include <thread>
#include <utility>

#include "dispatch/core.hpp"
#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class Recording : public contract_test {
 protected:
  /// Steps that show their order, on a word that every device reaches.
  [[nodiscard]] launch step(host_buffer<std::uint32_t> const& word, std::uint32_t factor, std::uint32_t summand) {
    return program().step.on({1}, {1})(word.data(), factor, summand);
  }
  [[nodiscard]] host_buffer<std::uint32_t> word(std::uint32_t value) {
    host_buffer<std::uint32_t> made{rt(), 1};
    made[0] = value;
    return made;
  }
};
FLOTILLA_CONTRACT(Recording);

// requirement
TEST_P(Recording, RunsAChainInOrderAtEveryReplay) {
  device_word const value{rt(), last(), 1};
  recording steps{rt()};
  recorded_task before;
  for (std::uint32_t i = 0; i < 100; ++i) {
    launch const each = program().step.on({1}, {1})(value.buffer(), 3u, i);
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

// requirement: without a wait in between replays run one after another
TEST_P(Recording, ReplaysRunOneAfterAnother) {
  host_buffer<std::uint32_t> const value = word(1);
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

// requirement: work goes to and fro between devices, in the order of `after`
TEST_P(Recording, CrossesDevicesInBothDirections) {
  host_buffer<std::uint32_t> const value = word(1);
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

// requirement: more tasks side by side than a graph should have; on every device, and the ticket is of all
TEST_P(Recording, RunsManyIndependentTasksOnceEach) {
  constexpr unsigned tasks = 300;
  auto const count = program().loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  std::vector<device_buffer<std::uint32_t>> counters;
  recording steps{rt()};
  for (device_ordinal const device : ordinals()) {
    counters.emplace_back(rt(), device, tasks);
    rt().submit(counters.back().fill(0)).wait();
    for (unsigned i = 0; i < tasks; ++i) { static_cast<void>(steps.add(count.on({1}, {1})(counters.back(), i))); }
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

// requirement: a replay that waits keeps the arguments it was submitted with
TEST_P(Recording, ChangedArgumentsHoldFromTheNextReplayOn) {
  host_buffer<std::uint32_t> const value = word(0);
  held_word door{rt()};
  recording digits{rt()};
  auto const digit = digits.add(step(value, 10, 1), {.device = last()});
  ticket const held = rt().submit(door.launch_of(program()), {.device = first()});
  std::vector<ticket> replays;
  replays.push_back(digits.replay({.after = {held}}));
  for (std::uint32_t i = 2; i <= 9; ++i) {
    digits.set(digit, step(value, 99, 99));  // the last of several counts
    digits.set(digit, step(value, 10, i));
    replays.push_back(digits.replay());
  }
  EXPECT_EQ(value[0], 0u);
  door.release();
  for (ticket const& each : replays) { each.wait(); }
  EXPECT_EQ(value[0], 123456789u);
  digits.replay().wait();
  EXPECT_EQ(value[0], 1234567899u) << "and stays, without being set again";
}

// requirement: another kernel, before the graphs are made and after
TEST_P(Recording, ATaskMayBecomeAnotherKernel) {
  host_buffer<std::uint32_t> const value = word(3);
  recording steps{rt()};
  auto const task = steps.add(program().nothing.on({1}, {1})(), {.device = last()});
  steps.set(task, step(value, 2, 1));
  steps.replay().wait();
  EXPECT_EQ(value[0], 7u);
  steps.set(task, program().write.on({1}, {1})(value.data(), 50u));
  steps.replay().wait();
  EXPECT_EQ(value[0], 50u);
  steps.set(task, program().nothing.on({1}, {1})());
  steps.replay().wait();
  EXPECT_EQ(value[0], 50u);
}

// requirement: many replays in a row, each with some tasks changed, in arguments or in their grid, and others not; in the end
// another kernel and another block: every replay runs what was set before it
TEST_P(Recording, RunsEveryReplayAsItWasSet) {
  constexpr std::uint32_t tasks = 100, replays = 60;
  host_buffer<std::uint32_t> const counters{rt(), tasks};
  std::fill_n(counters.data(), tasks, 0u);
  auto const adding = [&](std::uint32_t task, std::uint32_t amount, std::uint32_t blocks, std::uint32_t threads = 1) {
    return program().add.on({blocks}, {threads})(counters.data() + task, amount);
  };
  recording steps{rt()};
  std::vector<recorded_task> made;
  std::vector<std::uint32_t> each(tasks), expected(tasks, 0);  // what a replay adds
  for (std::uint32_t i = 0; i < tasks; ++i) {
    // Chains of ten: the order of tasks is held as well.
    recorded_options options{.device = i % 10 == 0 || i % 20 > 10 ? first() : last()};
    if (i % 10 != 0) { options.after.push_back(made.back()); }
    made.push_back(steps.add(adding(i, i, 1), options));
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
        steps.set(made[i], program().nothing.on({1}, {1})());
      } else {
        steps.set(made[i], adding(i, replay + i, blocks, threads ? 2 : 1));
      }
    }
    end = steps.replay();
    for (std::uint32_t i = 0; i < tasks; ++i) { expected[i] += each[i]; }
    if (replay % 20 != 19) { continue; }
    end.wait();
    for (std::uint32_t i = 0; i < tasks; ++i) { ASSERT_EQ(counters[i], expected[i]) << i << ", replay " << replay; }
  }
}

// requirement: arguments that lie inside no launch
TEST_P(Recording, CarriesLargeArguments) {
  auto const sum = program().loaded.kernel<words_4088, std::uint32_t*>("sum_4088");
  host_buffer<std::uint32_t> const out = word(0);
  words_4088 values{};
  recording steps{rt()};
  auto const task = steps.add(sum.on({1}, {1})(values, out.data()));
  for (std::uint32_t round = 0; round < 3; ++round) {
    std::uint32_t expected = 0;
    for (std::uint32_t i = 0; i < 1022; ++i) {
      values.word[i] = i * 7 + round;
      expected += values.word[i] * (i + 1);
    }
    steps.set(task, sum.on({1}, {1})(values, out.data()));
    steps.replay().wait();
    EXPECT_EQ(out[0], expected);
  }
}

// requirement: copies and fills among launches, in their order, and set anew
TEST_P(Recording, HoldsCopiesAndFills) {
  device_buffer<std::uint32_t> const there{rt(), last(), 4}, beside{rt(), last(), 4};
  host_buffer<std::uint32_t> const in{rt(), 4}, out{rt(), 4}, other{rt(), 4};
  for (std::uint32_t i = 0; i < 4; ++i) {
    in[i] = 10 + i;
    out[i] = other[i] = 0;
  }
  recording steps{rt()};
  auto const up = steps.add(there.copy_from(in));
  auto const counted = steps.add(program().add.on({1}, {1})(there, 5u), {.after = {up}});
  auto const over = steps.add(there.copy_to(beside), {.after = {counted}});
  auto const fill = steps.add(there.fill(7), {.after = {over}});
  auto const down = steps.add(beside.copy_to(out), {.after = {over}});
  auto const values = [](host_buffer<std::uint32_t> const& of) { return std::vector<std::uint32_t>(of.begin(), of.end()); };
  auto const read = [&](device_buffer<std::uint32_t> const& of) {
    std::vector<std::uint32_t> host(4);
    rt().submit(of.copy_to(host)).wait();
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

// requirement: what no graph of one device can hold is refused, and a task stays of its kind
TEST_P(Recording, RefusesCopiesThatNoGraphHolds) {
  device_buffer<std::uint32_t> const there{rt(), last(), 4}, elsewhere{rt(), first(), 4}, empty{rt(), last(), 0};
  host_buffer<std::uint32_t> const pinned{rt(), 4};
  std::vector<std::uint32_t> pageable(4);
  recording steps{rt()};
  EXPECT_THAT(thrown<invalid_argument>([&] { steps.add(there.copy_to(pageable)); }), HasSubstr("pageable"));
  if (device_count() > 1) {
    EXPECT_THAT(thrown<invalid_argument>([&] { steps.add(there.copy_to(elsewhere)); }), HasSubstr("to device 0"));
    EXPECT_THROW(steps.add(there.fill(1), {.device = first()}), invalid_argument);
  }
  EXPECT_THROW(steps.add(empty.fill(1)), invalid_argument);
  EXPECT_THROW(steps.add(transfer{}), invalid_argument);
  auto const down = steps.add(there.copy_to(pinned));
  for (int finished = 0; finished < 2; ++finished) {
    EXPECT_THAT(thrown<invalid_argument>([&] { steps.set(down, there.copy_from(pinned)); }), HasSubstr("task 0"));
    EXPECT_THROW(steps.set(down, there.fill(1)), invalid_argument);
    EXPECT_THROW(steps.set(down, program().nothing.on({1}, {1})()), invalid_argument);
    EXPECT_THROW(steps.set(down, there.copy_to(pageable)), invalid_argument);
    steps.finish();
  }
  steps.replay().wait();
}

// requirement: from any thread, the first replay too, while others set
TEST_P(Recording, IsReplayedBySeveralThreads) {
  constexpr int threads = 4, times = 25;
  host_buffer<std::uint32_t> const value = word(0);
  recording steps{rt()};
  // Not atomic: if two replays ran at once, some would be lost.
  auto const one = steps.add(step(value, 1, 1), {.device = first()});
  static_cast<void>(steps.add(step(value, 1, 1), {.device = last(), .after = {one}}));
  std::vector<std::jthread> crew;
  for (int i = 0; i < threads; ++i) {
    crew.emplace_back([&] {
      for (int k = 0; k < times; ++k) {
        ticket const done = steps.replay();
        steps.set(one, step(value, 1, 1));
        if (k % 5 == 0) { done.wait(); }
      }
    });
  }
  crew.clear();
  rt().wait_idle();
  EXPECT_EQ(value[0], 2u * threads * times);
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

// requirement: its ticket is one like any other
TEST_P(Recording, ItsTicketIsDependedOn) {
  device_word const value{rt(), last(), 1};
  recording steps{rt()};
  static_cast<void>(steps.add(program().step.on({1}, {1})(value.buffer(), 3u, 1u)));
  ticket const done = steps.replay({.label = "first"});
  ticket const again = rt().submit(value.buffer().fill(10), {.after = {done}});
  ticket const replayed = steps.replay({.after = {again}});
  ticket const behind = rt().submit(program().step.on({1}, {1})(value.buffer(), 2u, 1u), {.after = {replayed}});
  EXPECT_EQ(value.read({behind}), 63u);
  std::atomic<int> seen{0};
  await(steps, seen);
  auto const then = steps.replay().then([&](std::exception_ptr why) {
    EXPECT_EQ(why, nullptr);
    ++seen;
  });
  EXPECT_TRUE(pumping(rt(), [&] { return seen == 2; }));
  EXPECT_TRUE(pumping(rt(), [&] { return then.ready(); }));
}

// requirement: replays in flight lose nothing, and what they need stays until then
TEST_P(Recording, MayEndBeforeItsReplays) {
  host_buffer<std::uint32_t> const value = word(1);
  held_word door{rt()};
  ticket done;
  {
    recording steps{rt()};
    auto const task = steps.add(step(value, 3, 1), {.device = last()});
    ticket const held = rt().submit(door.launch_of(program()), {.device = last()});
    static_cast<void>(steps.replay({.after = {held}}));
    steps.set(task, step(value, 5, 2));
    done = steps.replay();
  }
  rt().pump();
  EXPECT_NE(rt().core().parts.get(0), nullptr) << "a graph was freed under a replay";
  door.release();
  done.wait();
  EXPECT_EQ(value[0], (1u * 3 + 1) * 5 + 2);
  EXPECT_TRUE(pumping(rt(), [&] { return rt().core().parts.get(0) == nullptr; })) << "it is kept for ever";
}

// requirement
TEST_P(Recording, IsMovable) {
  host_buffer<std::uint32_t> const value = word(1);
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

// requirement: each names the offender, and leaves the recording as it was
TEST_P(Recording, RefusesWhatItCannotRecord) {
  host_buffer<std::uint32_t> const value = word(1);
  recording steps{rt()}, other{rt()};
  EXPECT_THAT(thrown<invalid_argument>([&] { steps.finish(); }), HasSubstr("no task"));
  auto const task = steps.add(step(value, 3, 1));
  auto const foreign = other.add(step(value, 3, 1));
  EXPECT_THAT(thrown<invalid_argument>([&] { steps.set(foreign, step(value, 9, 9)); }), HasSubstr("another recording"));
  EXPECT_THAT(thrown<invalid_argument>([&] { steps.add(step(value, 9, 9), {.after = {foreign}}); }),
              HasSubstr("another recording"));
  EXPECT_THAT(thrown<invalid_argument>([&] { steps.set(recorded_task{}, step(value, 9, 9)); }), HasSubstr("no task"));
  EXPECT_THAT(thrown<invalid_argument>([&] { steps.add(program().nothing.over(0)()); }), HasSubstr("'nothing'"));
  EXPECT_THAT(thrown<invalid_argument>([&] { steps.set(task, program().nothing.over(0)()); }), HasSubstr("'nothing'"));
  EXPECT_THROW(steps.add(step(value, 9, 9), {.device = device_ordinal{99}}), unknown_device);
  if (device_count() > 1) {
    device_word const elsewhere{rt(), last()};
    launch const there = program().write.on({1}, {1})(elsewhere.buffer(), 1u);
    EXPECT_THROW(steps.add(there, {.device = first()}), invalid_argument);
    EXPECT_THROW(steps.set(task, there), invalid_argument);
  }
  runtime stranger{{.devices = "cpu:1", .workers = 0}};
  test_program const theirs{stranger};
  EXPECT_THROW(steps.add(theirs.nothing.on({1}, {1})()), wrong_runtime);
  EXPECT_THROW(steps.set(task, theirs.nothing.on({1}, {1})()), wrong_runtime);
  ticket const their_ticket = stranger.submit(theirs.nothing.on({1}, {1})());
  EXPECT_THROW(static_cast<void>(steps.replay({.after = {their_ticket}})), wrong_runtime);
  EXPECT_THROW(static_cast<void>(steps.replay({.after = {ticket{}}})), invalid_argument);
  steps.replay().wait();
  EXPECT_THAT(thrown<invalid_argument>([&] { steps.add(step(value, 9, 9)); }),
              AllOf(HasSubstr("finished"), HasSubstr("multiply_add")));
  EXPECT_EQ(steps.size(), 1u);
  EXPECT_EQ(value[0], 4u) << "something that was refused ran";
}

// requirement
TEST_P(Recording, IsNotReplayedOnceTheRuntimeIsClosed) {
  recording steps{rt()}, late{rt()};
  static_cast<void>(steps.add(program().nothing.on({1}, {1})()));
  static_cast<void>(late.add(program().nothing.on({1}, {1})()));
  ticket const before = steps.replay();
  rt().close();
  EXPECT_THROW(static_cast<void>(steps.replay()), runtime_closed);
  EXPECT_THROW(late.finish(), runtime_closed);
  before.wait();
}

// requirement: made and replayed inside a callable, by its own device too
TEST_P(Recording, WorksInsideACallable) {
  host_buffer<std::uint32_t> const value = word(1);
  recording steps{rt()};
  auto const task = steps.add(step(value, 3, 1), {.device = first()});
  ticket replayed;
  rt().submit([&](task_context&) { replayed = steps.replay(); }, {.device = first()}).wait();
  replayed.wait();
  EXPECT_EQ(value[0], 4u);
  rt().submit([&](task_context&) {
        steps.set(task, step(value, 5, 2));
        replayed = steps.replay();
      }, {.device = last()}).wait();
  replayed.wait();
  EXPECT_EQ(value[0], 22u);
}

// regression: it took the one slot there was for the first of two graphs, and looked for ever for another
TEST_P(Recording, IsRefusedInsideACallableWhereSlotsAreShort) {
  if (first() == last()) { GTEST_SKIP() << "needs two devices"; }
  auto with = options();
  with.window = 64;
  start(with);
  host_buffer<std::uint32_t> const value = word(0);
  recording steps{rt()};
  auto const a = steps.add(step(value, 1, 1), {.device = first()});
  auto const b = steps.add(step(value, 1, 1), {.device = last(), .after = {a}});
  static_cast<void>(steps.add(step(value, 1, 1), {.device = first(), .after = {b}}));
  steps.finish();
  int free = 0;
  rt().submit([&](task_context&) {
        while (rt().try_submit(step(value, 1, 1), {.device = first()})) { ++free; }
      }, {.device = first()}).wait();
  rt().wait_idle();
  bool refused = false;
  rt().submit([&](task_context&) {
        for (int i = 1; i < free && rt().try_submit(step(value, 1, 1), {.device = first()}); ++i) {}
        try {
          static_cast<void>(steps.replay());
        } catch (queue_full const&) { refused = true; }
      }, {.device = first()}).wait();
  EXPECT_TRUE(refused);
  rt().wait_idle();
  steps.replay().wait();
}

// requirement: a replay takes a slot of each of its graphs, all or none
TEST_P(Recording, WaitsWhileAWindowIsFull) {
  auto with = options();
  with.window = 64;
  start(with);
  host_buffer<std::uint32_t> const value = word(0);
  recording steps{rt()};
  recorded_task before = steps.add(step(value, 1, 1), {.device = first()});
  for (int i = 1; i < 10; ++i) {  // five graphs of either of two devices
    before = steps.add(step(value, 1, 1), {.device = i % 2 == 0 ? first() : last(), .after = {before}});
  }
  std::vector<std::jthread> crew;
  for (int i = 0; i < 2; ++i) {
    crew.emplace_back([&] {
      for (int k = 0; k < 100; ++k) { static_cast<void>(steps.replay()); }
    });
  }
  crew.clear();
  rt().wait_idle();
  EXPECT_EQ(value[0], 2000u);
  held_word door{rt()};
  std::vector<ticket> open;
  while (auto held = rt().try_submit(door.launch_of(program()), {.device = last()})) { open.push_back(std::move(*held)); }
  std::atomic<bool> refused{false};
  if (device_count() > 1) {
    ticket const inside = rt().submit([&](task_context&) {
      try {
        static_cast<void>(steps.replay());
      } catch (queue_full const&) { refused = true; }
    }, {.device = first()});
    inside.wait();
    EXPECT_TRUE(refused);
  }
  door.release();
  rt().wait_idle();
  EXPECT_EQ(value[0], 2000u) << "a replay that was refused ran in part";
}

// requirement: a recording that no window can hold is refused, not waited for
TEST_P(Recording, OfTooManyGraphsIsRefused) {
  if (device_count() == 1) { GTEST_SKIP() << "needs 2 devices"; }
  auto with = options();
  with.window = 64;
  start(with);
  recording steps{rt()};
  recorded_task before = steps.add(program().nothing.on({1}, {1})(), {.device = first()});
  for (int i = 1; i < 200; ++i) {
    before = steps.add(program().nothing.on({1}, {1})(), {.device = i % 2 == 0 ? first() : last(), .after = {before}});
  }
  EXPECT_THAT(thrown<invalid_argument>([&] { static_cast<void>(steps.replay()); }), AllOf(HasSubstr("window"), HasSubstr("64")));
}

// requirement: a replay fails with what it is behind; what it was to change later ones find changed
TEST_P(Recording, AFailedDependencyFailsOneReplay) {
  host_buffer<std::uint32_t> const value = word(1);
  recording steps{rt()};
  auto const task = steps.add(step(value, 3, 1), {.device = last()});
  static_cast<void>(steps.add(step(value, 1, 0), {.device = first(), .after = {task}}));
  ticket const bad = rt().submit([](task_context&) { throw std::runtime_error{"the first cause"}; });
  static_cast<void>(ended(bad));
  steps.set(task, step(value, 5, 2));
  ticket const behind = steps.replay({.after = {bad}, .label = "behind"});
  EXPECT_THAT(thrown<dependency_failed>([&] { behind.wait(); }), HasSubstr("the first cause"));
  EXPECT_EQ(value[0], 1u);
  steps.replay().wait();
  EXPECT_EQ(value[0], 7u);
}

}  // namespace
}  // namespace flotilla::test
