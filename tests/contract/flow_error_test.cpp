// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows: failures, and mistakes of their users.

#include <cmath>
#include <stdexcept>
#include <utility>

#include "contract/flow_fixture.hpp"

namespace flotilla::test {
namespace {

class FlowError : public flow_test {
 protected:
  /// Submits a task that fails instead of writing `which`.
  ticket failing(word_data& which, device_ordinal device) {
    return fl().submit(
        uses(write(which)),
        [](task_context&, view<std::uint32_t>) { throw std::runtime_error{"no result"}; },
        {.device = device, .label = "the one that fails"});
  }
  /// Submits a task that only reads `which`.
  ticket reading(word_data& which, device_ordinal device) {
    return fl().submit(uses(read(which)), [](task_context&, view<std::uint32_t const>) {},
                       {.device = device});
  }
};
FLOTILLA_CONTRACT(FlowError);

// requirement: data that a failed task should have written are lost, on every device and on the
// host, even if the task failed long ago and its ticket is gone
TEST_P(FlowError, ReadersOfLostDataFail) {
  word_data x{fl(), {32}, "x"};
  static_cast<void>(failing(x, first()));
  rt().wait_idle();
  for (int i = 0; i < 100; ++i) {
    rt().post([](task_context&) {});
  }
  rt().wait_idle();
  for (device_ordinal const device : ordinals()) {
    ticket const reader = reading(x, device);
    EXPECT_THAT(thrown<dependency_failed>([&] { reader.wait(); }), EndsWith("no result"));
  }
  ticket const on_host = fl().submit(uses(read(x)), host_task([](view<std::uint32_t const>) {}));
  EXPECT_THROW(on_host.wait(), dependency_failed);
  std::string const text = thrown<dependency_failed>([&] { static_cast<void>(x.host()); });
  EXPECT_THAT(text, HasSubstr("data 'x' are lost"));
  EXPECT_THAT(text, EndsWith("no result"));
}

// requirement: what a task computes from lost data is lost too
TEST_P(FlowError, LossSpreadsAlongTheFlow) {
  words host = iota(32);
  word_data x{fl(), {32}, "x"}, y{fl(), host, "y"}, sum{fl(), {32}, "sum"};
  static_cast<void>(failing(x, first()));
  static_cast<void>(fl().submit(mix(sum, x, y, 1), {.device = last()}));
  static_cast<void>(fl().submit(stir(sum, 1), {.device = first()}));
  EXPECT_THAT(thrown<dependency_failed>([&] { static_cast<void>(sum.host()); }),
              EndsWith("no result"));
  EXPECT_EQ(on_host(y), iota(32)) << "data that are only read are not lost";
}

// requirement: a later task that writes lost data heals them
TEST_P(FlowError, WriterHealsLostData) {
  words host = iota(32), expected(32);
  word_data x{fl(), {32}, "x"}, y{fl(), host, "y"}, z{fl(), host, "z"};
  for (device_ordinal const device : ordinals()) {
    static_cast<void>(failing(x, device));
    EXPECT_THROW(reading(x, last()).wait(), dependency_failed);
    fl().post(mix(x, y, z, 3), {.device = last()});
    mix_on_host(expected.data(), host.data(), host.data(), 32, 3);
    EXPECT_EQ(on_host(x), expected);
    reading(x, first()).wait();
  }
}

// requirement: a task that updates lost data fails, and does not heal them
TEST_P(FlowError, UpdateDoesNotHeal) {
  word_data x{fl(), {32}, "x"};
  static_cast<void>(failing(x, first()));
  ticket const update_it = fl().submit(stir(x, 1), {.device = first()});
  EXPECT_THROW(update_it.wait(), dependency_failed);
  EXPECT_THROW(reading(x, last()).wait(), dependency_failed);
}

// regression: a task that does not run ended as soon as one predecessor had failed. So a later task
// that overwrites its data ran beside an earlier task that still used them
TEST_P(FlowError, RefusedTasksKeepTheOrder) {
  words host = iota(32);
  word_data lost{fl(), {32}, "lost"}, y{fl(), host, "y"};
  static_cast<void>(failing(lost, first()));
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  ticket const user = fl().submit(
      uses(update(y)), host_task([](view<std::uint32_t> all) { all(0) = 5; }), {.after = {held}});
  ticket const refused = fl().submit(
      uses(update(y), read(lost)),
      [](task_context&, view<std::uint32_t>, view<std::uint32_t const>) {}, {.device = first()});
  ticket const refused_on_host =
      fl().submit(uses(update(y), read(lost)),
                  host_task([](view<std::uint32_t>, view<std::uint32_t const>) {}));
  ticket const writer =
      fl().submit(uses(write(y)), host_task([](view<std::uint32_t> all) { all(0) = 9; }));
  EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
  for (int i = 0; i < 20; ++i) { rt().pump(); }
  EXPECT_FALSE(refused.ready());
  EXPECT_FALSE(writer.ready());
  word.release();
  writer.wait();
  EXPECT_TRUE(user.ready());
  EXPECT_EQ(y.host()(0), 9u);
  EXPECT_THROW(refused.wait(), dependency_failed);
  EXPECT_THROW(refused_on_host.wait(), dependency_failed);
}

// regression: the failure of a writer was forgotten when the next writer was submitted, although
// that one, and readers before it, had not looked at it yet
TEST_P(FlowError, OldFailuresAreSeenByTasksThatAreNotLaunched) {
  words host = iota(32);
  word_data x{fl(), {32}, "x"}, y{fl(), host, "y"};
  static_cast<void>(failing(x, last()));
  rt().wait_idle();
  for (int i = 0; i < 100; ++i) {
    rt().post([](task_context&) {});
  }
  rt().wait_idle();
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = first()});
  ticket const reader =
      fl().submit(uses(read(x)), host_task([](view<std::uint32_t const>) {}), {.after = {held}});
  ticket const updater = fl().submit(stir(x, 1), {.device = last()});
  ticket const healer =
      fl().submit(uses(write(x)), host_task([](view<std::uint32_t> all) { all(0) = 1; }));
  word.release();
  EXPECT_THROW(reader.wait(), dependency_failed);
  EXPECT_THROW(updater.wait(), dependency_failed);
  healer.wait();
  EXPECT_EQ(x.host()(0), 1u);
}

// regression: the deadlock detector did not see for what a task waits that will not run
TEST_P(FlowError, WaitForARefusedTaskThatWaitsIsRefused) {
  if (device_count() < 2) { GTEST_SKIP() << "needs 2 devices"; }
  words host = iota(32);
  word_data lost{fl(), {32}, "lost"}, y{fl(), host, "y"};
  static_cast<void>(failing(lost, last()));
  rt().wait_idle();
  latch submitted;
  ticket refused;
  ticket const callable = fl().submit(uses(update(y)),
                                      [&](task_context&, view<std::uint32_t>) {
                                        if (worker_count() != 0) { submitted.wait(); }
                                        if (refused.valid()) { refused.wait(); }
                                      },
                                      {.device = first()});
  refused = fl().submit(uses(read(lost), update(y)),
                        [](task_context&, view<std::uint32_t const>, view<std::uint32_t>) {},
                        {.device = last()});
  submitted.open();
  EXPECT_THROW(callable.wait(), would_deadlock);
  EXPECT_THROW(refused.wait(), dependency_failed);
}

// requirement: readers that fail affect neither other readers nor a later writer
TEST_P(FlowError, FailedReadersHarmNobody) {
  words host = iota(32), expected = host;
  word_data x{fl(), host, "x"};
  ticket const bad = fl().submit(
      uses(read(x)),
      [](task_context&, view<std::uint32_t const>) { throw std::runtime_error{"only me"}; },
      {.device = last()});
  reading(x, last()).wait();
  fl().post(stir(x, 4), {.device = last()});
  stir_on_host(expected.data(), 32, 4);
  EXPECT_EQ(on_host(x), expected);
  EXPECT_THROW(bad.wait(), std::runtime_error);
}

// requirement: a token whose writer failed fails the tasks that read or update it, not those that
// write it
TEST_P(FlowError, TokensCarryFailures) {
  token turn{fl(), "turn"};
  ticket const bad =
      fl().submit(uses(update(turn)), host_task([] { throw std::runtime_error{"lost turn"}; }));
  ticket const reader = fl().submit(uses(read(turn)), [](task_context&) {});
  EXPECT_THAT(thrown<dependency_failed>([&] { reader.wait(); }), EndsWith("lost turn"));
  fl().submit(uses(write(turn)), [](task_context&) {}).wait();
  fl().submit(uses(update(turn)), host_task([] {})).wait();
}

// regression: this was refused, although a kernel may have two parameters for the same data
TEST_P(FlowError, ATaskMayReadDataTwice) {
  words host = iota(32), result(32), model = iota(32), expected(32);
  word_data x{fl(), host, "x"}, y{fl(), result, "y"};
  for (int i = 0; i < 40; ++i) {
    fl().post(mix(y, x, x, 5));
    fl().post(stir(x, 1));
    mix_on_host(expected.data(), model.data(), model.data(), model.size(), 5);
    stir_on_host(model.data(), model.size(), 1);
    static_cast<void>(y.host());
    ASSERT_EQ(result, expected) << i;
  }
}

// requirement: mistakes are refused with the names of data and task, and lose nothing
TEST_P(FlowError, MistakesAreNamed) {
  words host = iota(32);
  word_data x{fl(), host, "x"}, empty{fl(), {32}, "empty"}, y{fl(), host, "y"};
  auto const refused = [&](auto const& call) { return thrown<invalid_argument>(call); };
  EXPECT_THAT(refused([&] { fl().post(mix(x, y, x, 1), {.label = "twice"}); }),
              HasSubstr("task 'twice': data 'x' occur twice in one task"));
  EXPECT_THAT(refused([&] { fl().post(stir(empty, 1)); }),
              StartsWith("kernel 'stir_words': data 'empty' have no contents yet"))
      << "without a label, the message names the kernel";
  EXPECT_THAT(refused([&] { static_cast<void>(empty.host()); }),
              HasSubstr("data 'empty' have no contents yet"));
  EXPECT_THAT(refused([&] { empty.prefetch_to(last()); }), HasSubstr("no contents yet"));
  EXPECT_THAT(refused([&] { word_data bad(fl(), host, {31}, "bad"); }),
              HasSubstr("data 'bad': the extents are 31, but the memory has 32 objects"));
  EXPECT_THAT(refused([&] { word_data bad(fl(), {0}, "bad"); }), HasSubstr("an extent is 0"));
  words nothing;
  EXPECT_THAT(refused([&] { word_data bad(fl(), nothing, {32}, "bad"); }),
              HasSubstr("data 'bad': the extents are 32, but the memory has 0 objects"));
  flow other{rt()};
  EXPECT_THAT(refused([&] { other.post(stir(x, 1)); }),
              HasSubstr("data 'x' belong to another flow"));
  word_data moved = std::move(y);
  EXPECT_THAT(refused([&] { fl().post(stir(y, 1)); }), HasSubstr("use 0 names no data"));
  EXPECT_THAT(refused([&] { static_cast<void>(y.host()); }), HasSubstr("moved from"));
  EXPECT_THROW(fl().post(stir(x, 1), {.device = device_ordinal{99}}), unknown_device);
  EXPECT_THROW(x.prefetch_to(device_ordinal{99}), unknown_device);
  EXPECT_EQ(on_host(x), iota(32));
}

// requirement
TEST_P(FlowError, WrongPredecessorsAreRefused) {
  words host = iota(32);
  word_data x{fl(), host, "x"};
  auto const nothing = [](auto&&...) {};
  runtime other{runtime_options{.devices = device_spec(1)}};
  ticket const foreign = other.submit([](task_context&) {});
  foreign.wait();
  for (bool const after_end : {false, true}) {
    task_options options;
    (after_end ? options.after_end : options.after).add(foreign);
    EXPECT_THROW(fl().post(stir(x, 1), options), wrong_runtime);
    EXPECT_THROW(fl().post(uses(write(x)), nothing, options), wrong_runtime);
    host_options const on_host{.after = options.after, .after_end = options.after_end};
    EXPECT_THROW(fl().post(uses(write(x)), host_task(nothing), on_host), wrong_runtime);
  }
  EXPECT_THROW(fl().post(uses(write(x)), nothing, {.after = {ticket{}}}), invalid_argument);
  EXPECT_EQ(on_host(x), iota(32));
}

// requirement: data that do not fit are refused with their name, and other data are not affected
TEST_P(FlowError, NoMemoryIsNamed) {
  words host = iota(32);
  word_data x{fl(), host, "x"};
  word_data huge{fl(), {std::size_t{1} << 44}, "huge"};
  EXPECT_THAT(thrown<driver_error>([&] {
                fl().post(uses(write(huge)), [](task_context&, view<std::uint32_t>) {},
                          {.device = last()});
              }),
              AllOf(HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"), HasSubstr("data 'huge' need")));
  fl().post(stir(x, 1), {.device = last()});
  EXPECT_EQ(on_host(x)[1], 1u * 3 + 1);
}

// requirement: a callable that waits for data which depend on this callable is refused
TEST_P(FlowError, WaitForHostInsideItsOwnTaskIsRefused) {
  word_data x{fl(), {32}, "x"};
  latch submitted;
  ticket const task = fl().submit(uses(write(x)),
                                  [&](task_context&, view<std::uint32_t>) {
                                    if (worker_count() != 0) { submitted.wait(); }
                                    static_cast<void>(x.host());
                                  },
                                  {.device = last()});
  submitted.open();
  EXPECT_THROW(task.wait(), would_deadlock);
}

// requirement
TEST_P(FlowError, WatermarksAreChecked) {
  auto const with = [&](double low, double high) {
    return thrown<invalid_argument>([&] {
      flow{rt(), {.low_watermark = low, .high_watermark = high}};
    });
  };
  EXPECT_THAT(with(0.9, 0.5), HasSubstr("low_watermark is 0.9"));
  EXPECT_THAT(with(0, 0.5), HasSubstr("low_watermark <= high_watermark <= 1"));
  EXPECT_THAT(with(0.5, 1.5), HasSubstr("high_watermark is 1.5"));
  EXPECT_THAT(with(std::nan(""), 1), HasSubstr("low_watermark is"));
}

}  // namespace
}  // namespace flotilla::test
