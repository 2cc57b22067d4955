// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// co_await on tickets.

#include <flotilla/task/coroutine.hpp>

#include <atomic>
#include <exception>
#include <stdexcept>
#include <stop_token>
#include <vector>

#include "support/child.hpp"
#include "support/contract_test.hpp"
#include "support/driver_in_use.hpp"
#include "support/fire_and_forget.hpp"

namespace flotilla::test {
namespace {

class Coroutine : public contract_test {};
FLOTILLA_CONTRACT(Coroutine);

struct my_error : std::runtime_error {
  my_error() : std::runtime_error{"mine"} {}
};

fire_and_forget add_up(runtime& rt, test_program const& kernels, device_word& value, int times,
                       device_ordinal device, std::atomic<int>& done) {
  for (int i = 0; i < times; ++i) {
    co_await rt.submit(kernels.add.with_shape({1}, {1})(value.buffer(), 1u), {.device = device});
    EXPECT_EQ(current_context(), nullptr);
  }
  ++done;
}

// requirement: a coroutine may await tickets in a loop, even if the tickets are temporary objects
TEST_P(Coroutine, CoroutineAwaitsTasksOneAfterAnother) {
  device_word value{rt(), last(), 1};
  std::atomic<int> done{0};
  add_up(rt(), program(), value, 50, last(), done);
  EXPECT_TRUE(pumping(rt(), [&] { return done == 1; }));
  EXPECT_EQ(value.read(), 51u);
}

// requirement: many coroutines may be suspended at the same time
TEST_P(Coroutine, HundredsOfCoroutinesRunConcurrently) {
  constexpr int coroutines = 200, times = 5;
  device_word here{rt(), first()}, there{rt(), last()};
  std::atomic<int> done{0};
  for (int i = 0; i < coroutines; ++i) {
    bool const even = i % 2 == 0;
    add_up(rt(), program(), even ? here : there, times, even ? first() : last(), done);
  }
  EXPECT_TRUE(pumping(rt(), [&] { return done == coroutines; })) << done;
  EXPECT_EQ(here.read(), 500u);
  EXPECT_EQ(there.read(), 500u);
}

fire_and_forget await_after(runtime& rt, test_program const& kernels, device_word& value,
                            device_ordinal device, std::atomic<bool>& done) {
  auto const add = [&](std::uint32_t amount) {
    return kernels.add.with_shape({1}, {1})(value.buffer(), amount);
  };
  ticket const a = rt.submit(add(1), {.device = device});
  co_await rt.submit(add(10), {.after = {a}});
  ticket const b = rt.submit(add(100), {.device = device, .label = "b", .after = {a}});
  co_await rt.submit(add(1000), {.label = "a and b", .after = {a, b.id()}});
  ticket const c = rt.submit(add(10000)), d = rt.submit(add(20000)), e = rt.submit(add(30000));
  co_await rt.submit(add(100000), {.device = device, .after = {a, b, c, d, e}, .priority = -1});
  EXPECT_TRUE(c.ready() && d.ready() && e.ready());
  // The predecessors may be temporary objects, too.
  co_await rt.submit(add(1000000), {.after = {rt.submit(add(2000000))}});
  co_await rt.submit(host_task([] {}), {.after = {a, b, c, d, e}});
  done = true;
}

// requirement: `after` takes tickets in braces in the same expression as `co_await`. (g++ 12 cannot
// compile a std::initializer_list there.) Every predecessor counts: one, two and five
TEST_P(Coroutine, AwaitsASubmitWithPredecessors) {
  device_word value{rt(), last()};
  std::atomic<bool> done{false};
  await_after(rt(), program(), value, last(), done);
  EXPECT_TRUE(pumping(rt(), [&] { return done.load(); }));
  EXPECT_EQ(value.read(), 3161111u);
}

fire_and_forget await_with_token(runtime& rt, std::stop_source& source, std::atomic<int>& steps) {
  for (int i = 0; i < 20; ++i) {
    co_await rt.submit([](task_context&) {}, {.stop = source.get_token()});
    ++steps;
  }
  source.request_stop();
  try {
    co_await rt.submit([](task_context&) {}, {.stop = source.get_token()});
  } catch (task_cancelled const&) { ++steps; }
}

// requirement: a stop token may be given in the same expression as `co_await`. It is released once
// (g++ 12 destroys the options twice)
TEST_P(Coroutine, AwaitsASubmitWithAStopToken) {
  std::atomic<int> steps{0};
  std::stop_source source;
  await_with_token(rt(), source, steps);
  EXPECT_TRUE(pumping(rt(), [&] { return steps == 21; }));
  EXPECT_TRUE(source.stop_requested());
  std::stop_token const token = source.get_token();
  source = std::stop_source{std::nostopstate};
  EXPECT_TRUE(token.stop_requested()) << "the token must not use freed memory";
}

fire_and_forget await_all_kinds(runtime& rt, launch nothing, std::vector<int>& steps,
                                std::atomic<bool>& done) {
  ticket const ended = rt.submit([](task_context&) {});
  steps.push_back(1);
  co_await ended;
  steps.push_back(2);
  co_await ended;  // does not suspend, because the task has ended
  steps.push_back(3);
  ticket const bad = rt.submit([](task_context&) { throw my_error{}; });
  for (int i = 0; i < 2; ++i) {
    try {
      co_await bad;
      ADD_FAILURE() << "nothing was thrown";
    } catch (my_error const&) { steps.push_back(4 + i); }
  }
  std::vector<ticket> both;
  both.push_back(rt.submit(nothing));
  both.push_back(rt.submit(nothing));
  for (ticket const& each : both) { co_await each; }
  EXPECT_TRUE(both[0].ready() && both[1].ready());
  steps.push_back(6);
  try {
    co_await rt.submit(host_task([] { throw my_error{}; }), {.after = {both[0], both[1]}});
    ADD_FAILURE() << "nothing was thrown";
  } catch (my_error const&) { steps.push_back(7); }
  done = true;
}

// requirement: `co_await` throws the error that `wait` would throw
TEST_P(Coroutine, AwaitThrowsTheTasksError) {
  std::vector<int> steps;
  std::atomic<bool> done{false};
  await_all_kinds(rt(), program().nothing.with_shape({1}, {1})(), steps, done);
  EXPECT_TRUE(pumping(rt(), [&] { return done.load(); }));
  EXPECT_EQ(steps, (std::vector<int>{1, 2, 3, 4, 5, 6, 7}));
}

fire_and_forget await_one(ticket task, std::atomic<int>& resumed, std::atomic<int>& threw) {
  try {
    co_await task;
  } catch (error const&) { ++threw; }
  ++resumed;
}

// requirement: the runtime's destructor resumes suspended coroutines
TEST_P(Coroutine, RuntimeDestructorResumesSuspendedCoroutines) {
  std::atomic<int> resumed{0}, threw{0};
  for (int i = 0; i < 100; ++i) {
    await_one(
        rt().submit(program().nothing.with_shape({1}, {1})(), {.device = i % 2 ? first() : last()}),
        resumed, threw);
  }
  stop();
  EXPECT_EQ(resumed, 100);
  EXPECT_EQ(threw, 0);
}

class CoroutineFault : public guest_test, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(workers, CoroutineFault, ::testing::Values(0, 2));

// requirement: after a fault, suspended coroutines resume and `co_await` throws the error
TEST_P(CoroutineFault, FaultResumesCoroutinesWithTheError) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] {
    std::atomic<int> resumed{0}, threw{0};
    runtime rt{{.devices = device_spec(1), .workers = GetParam()}};
    program const loaded = rt.load(test_image());
    await_one(rt.submit(loaded.kernel<>("trap_now").with_shape({1}, {1})()), resumed, threw);
    EXPECT_TRUE(pumping(rt, [&] { return resumed == 1; }));
    EXPECT_EQ(threw, 1);
  });
}

}  // namespace
}  // namespace flotilla::test
