// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// flow::repeat: replays give the results of a loop.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "contract/flow_fixture.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

/// Fewer calls of an iteration than this show that it was replayed.
constexpr int few_calls = 10;

class FlowRepeat : public flow_test {
 protected:
  static constexpr std::size_t count = 96;
};
FLOTILLA_CONTRACT(FlowRepeat);

// requirement: an iteration is called a few times, and has the effect of all its iterations
TEST_P(FlowRepeat, ReplaysAnIterationOnOneDevice) {
  words host = iota(count);
  word_data x{fl(), host, "x"};
  int calls = 0;
  fl().repeat(1000, [&] {
    ++calls;
    fl().post(stir(x, 7), {.device = last()});
    fl().post(stir(x, 9), {.device = last()});
  });
  words expected = iota(count);
  for (int i = 0; i < 1000; ++i) {
    stir_on_host(expected.data(), count, 7);
    stir_on_host(expected.data(), count, 9);
  }
  EXPECT_EQ(on_host(x), expected);
  EXPECT_LT(calls, few_calls);
}

// requirement: the copies between devices are replayed too
TEST_P(FlowRepeat, ReplaysCopiesBetweenDevices) {
  words a_host = iota(count), b_host = iota(count, 1000), c_host = iota(count, 5);
  word_data a{fl(), a_host, "a"}, b{fl(), b_host, "b"}, c{fl(), c_host, "c"};
  int calls = 0;
  auto const iteration = [&] {
    ++calls;
    fl().post(mix(c, a, b, 1), {.device = first()});
    fl().post(mix(b, c, a, 2), {.device = last()});
    fl().post(stir(a, 3), {.device = first()});
  };
  std::uint64_t const before = fl().counters(last()).bytes_from_devices;
  fl().repeat(300, iteration);
  words ea = a_host, eb = b_host, ec = c_host;
  for (int i = 0; i < 300; ++i) {
    ec = mixed(ea, eb, 1);
    eb = mixed(ec, ea, 2);
    ea = stirred(ea, 3, 1);
  }
  EXPECT_EQ(on_host(a), ea);
  EXPECT_EQ(on_host(b), eb);
  EXPECT_EQ(on_host(c), ec);
  EXPECT_LT(calls, few_calls);
  if (device_count() > 1) {
    EXPECT_GE(fl().counters(last()).bytes_from_devices - before,
              2 * 299 * count * sizeof(std::uint32_t));
  }
}

// requirement: each number of iterations has its effect, however few there are
TEST_P(FlowRepeat, DoesAnyNumberOfIterations) {
  words host = iota(count);
  word_data x{fl(), host, "x"};
  std::size_t sum = 0;
  for (std::size_t const times : {0, 1, 2, 3, 4, 5, 6, 7, 30}) {
    fl().repeat(times, [&] { fl().post(stir(x, 7)); });
    sum += times;
  }
  EXPECT_EQ(on_host(x), stirred(iota(count), 7, sum));
}

// requirement: tasks that reduce data which the iteration does not read are replayed
TEST_P(FlowRepeat, ReplaysReductions) {
  words host = iota(count);
  word_data x{fl(), host, "x"}, sum{fl(), {count}, "sum"};
  int calls = 0;
  fl().repeat(200, [&] {
    ++calls;
    fl().post(add(sum, x, 1), {.device = first()});
    fl().post(add(sum, x, 2), {.device = last()});
  });
  words expected = iota(count);
  for (std::uint32_t& each : expected) { each *= 600; }
  EXPECT_EQ(on_host(sum), expected);
  EXPECT_LT(calls, few_calls);
}

// requirement: without a device, the tasks of all iterations run where those of one ran
TEST_P(FlowRepeat, ChoosesDevicesOnce) {
  words x_host = iota(count), y_host = iota(count, 9);
  word_data x{fl(), x_host, "x"}, y{fl(), y_host, "y"};
  int calls = 0;
  fl().repeat(100, [&] {
    ++calls;
    fl().post(stir(x, 1));
    fl().post(stir(y, 2));
  });
  EXPECT_EQ(on_host(x), stirred(x_host, 1, 100));
  EXPECT_EQ(on_host(y), stirred(y_host, 2, 100));
  EXPECT_LT(calls, few_calls);
}

// requirement: tasks before and after the replays are in order with them
TEST_P(FlowRepeat, IsInOrderWithOtherTasks) {
  words c_host = iota(count, 100);
  word_data c{fl(), c_host, "c"};
  words host = iota(count);
  word_data x{fl(), host, "x"}, copy{fl(), {count}, "copy"};
  for (int i = 0; i < 3; ++i) {
    fl().post(stir(x, 1), {.device = last()});
    fl().repeat(20, [&] { fl().post(stir(x, 7), {.device = first()}); });
    fl().post(mix(copy, x, c, 4), {.device = last()});
  }
  words expected = iota(count);
  for (int i = 0; i < 3; ++i) { expected = stirred(stirred(expected, 1, 1), 7, 20); }
  EXPECT_EQ(on_host(copy), mixed(expected, c_host, 4));
  EXPECT_EQ(on_host(x), expected);
}

// requirement: a repetition may be inside an iteration
TEST_P(FlowRepeat, CanBeNested) {
  words host = iota(count);
  word_data x{fl(), host, "x"};
  int calls = 0;
  fl().repeat(50, [&] {
    ++calls;
    fl().repeat(3, [&] { fl().post(stir(x, 7), {.device = last()}); });
  });
  EXPECT_EQ(on_host(x), stirred(iota(count), 7, 150));
  EXPECT_LT(calls, few_calls);
}

// requirement: tasks that must not run make the replays fail, and a later writer heals the data
TEST_P(FlowRepeat, FailsIfAnEarlierTaskFailed) {
  words c_host = iota(count, 100);
  word_data c{fl(), c_host, "c"};
  words host = iota(count);
  word_data x{fl(), host, "x"}, y{fl(), {count}, "y"};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  fl().post(uses(update(x)),
            [](task_context&, view<std::uint32_t>) { throw std::runtime_error{"no result"}; },
            {.device = last(), .after = {held}});
  fl().repeat(40, [&] { fl().post(mix(y, x, c, 7), {.device = last()}); });
  word.release();
  EXPECT_THAT(thrown<dependency_failed>([&] { static_cast<void>(y.host()); }),
              EndsWith("no result"));
  words z_host = iota(count, 7);
  word_data z{fl(), z_host, "z"};
  fl().post(mix(x, z, c, 1), {.device = first()});
  fl().repeat(20, [&] { fl().post(mix(y, x, c, 7), {.device = last()}); });
  words const healed = mixed(z_host, c_host, 1);
  EXPECT_EQ(on_host(y), mixed(healed, c_host, 7));
}

// requirement: several threads may use the flow while one repeats an iteration
TEST_P(FlowRepeat, OtherThreadsMaySubmit) {
  words x_host = iota(count), y_host = iota(count, 3);
  word_data x{fl(), x_host, "x"}, y{fl(), y_host, "y"};
  std::thread other{[&] {
    for (int i = 0; i < 30; ++i) {
      fl().post(stir(y, 5), {.device = last()});
      fl().post(stir(x, 7), {.device = last()});
      std::this_thread::yield();
    }
  }};
  fl().repeat(500, [&] { fl().post(stir(x, 7), {.device = first()}); });
  other.join();
  EXPECT_EQ(on_host(x), stirred(x_host, 7, 530));
  EXPECT_EQ(on_host(y), stirred(y_host, 5, 30));
}

// requirement: two threads may repeat iterations over the same data
TEST_P(FlowRepeat, TwoThreadsMayRepeat) {
  words host = iota(count);
  word_data x{fl(), host, "x"};
  std::thread other{[&] { fl().repeat(200, [&] { fl().post(stir(x, 7), {.device = last()}); }); }};
  fl().repeat(200, [&] { fl().post(stir(x, 7), {.device = first()}); });
  other.join();
  EXPECT_EQ(on_host(x), stirred(iota(count), 7, 400));
}

// requirement: more replays than the windows have places are no problem
TEST_P(FlowRepeat, FillsSmallWindows) {
  runtime_options few = options();
  few.window = 64;
  flotilla::runtime small{few};
  flow fl{small};
  flotilla::program const code = small.load(flow_kernels);
  word_data x{fl, {count}, "x"}, y{fl, {count}, "y"};
  constexpr auto size = static_cast<std::uint32_t>(count);
  auto const stir = code.kernel(flow_kernels.stir_words).over(size, 32);
  auto const mix = code.kernel(flow_kernels.mix_words).over(size, 32);
  words const start = iota(count), c_host = iota(count, 3);
  std::copy(start.begin(), start.end(), x.host_for_update().data);
  word_data c{fl, {count}, "c"};
  std::copy(c_host.begin(), c_host.end(), c.host_for_update().data);
  fl.repeat(200, [&] {
    x.prefetch_to_host();
    fl.post(stir(update(x), size, 7u), {.device = first()});
    fl.post(mix(write(y), read(x), read(c), size, 1u), {.device = last()});
  });
  words const expected = stirred(start, 7, 200);
  EXPECT_EQ(on_host(x), expected);
  EXPECT_EQ(on_host(y), mixed(expected, c_host, 1));
}

// requirement: replays count as the iterations of a loop do, prefetches included
TEST_P(FlowRepeat, CountsAsALoopDoes) {
  auto const count_all = [&](auto const& run) {
    flow own{rt()};
    words host = iota(count);
    word_data x{own, host, "x"}, c{own, host, "c"}, y{own, {count}, "y"};
    run(own, [&] {
      own.post(stir(x, 7), {.device = first()});
      x.prefetch_to(last());  // no task uses this copy
      c.prefetch_to(last());
      own.post(mix(y, c, x, 1), {.device = first()});
    });
    std::vector<std::uint64_t> made;
    for (device_ordinal const each : ordinals()) {
      flow_counters const seen = own.counters(each);
      made.insert(made.end(), {seen.hits, seen.misses, seen.bytes_from_host,
                               seen.bytes_from_devices, seen.bytes_to_host});
    }
    return made;
  };
  EXPECT_EQ(count_all([](flow& own, auto const& iteration) { own.repeat(100, iteration); }),
            count_all([](flow&, auto const& iteration) {
              for (int i = 0; i < 100; ++i) { iteration(); }
            }));
}

// requirement: the errors of posted tasks are reported for all iterations
TEST_P(FlowRepeat, ReportsFailuresOfReplays) {
  constexpr int count_of_iterations = sanitized ? 300 : 3000;
  std::atomic<int> errors{0};
  runtime_options with = options();
  with.on_error = [&](std::exception_ptr const&) { ++errors; };
  flotilla::runtime own{with};
  {
    flow fl{own};
    flotilla::program const code = own.load(flow_kernels);
    word_data x{fl, {count}, "x"};
    fl.post(uses(write(x)),
            [](task_context&, view<std::uint32_t>) { throw std::runtime_error{"no result"}; });
    constexpr auto size = static_cast<std::uint32_t>(count);
    auto const stir = code.kernel(flow_kernels.stir_words).over(size, 32);
    fl.repeat(count_of_iterations,
              [&] { fl.post(stir(update(x), size, 7u), {.device = first()}); });
    EXPECT_THROW(static_cast<void>(x.host()), dependency_failed);
  }
  own.wait_idle();
  EXPECT_EQ(errors, count_of_iterations + 1);
}

// requirement: host tasks of another thread change the data between iterations. regression for
// changes between two iterations that were equal
TEST_P(FlowRepeat, AnotherThreadMayChangeTheData) {
  word_data x{fl(), {count}, "x"};
  words const start = iota(count);
  std::copy(start.begin(), start.end(), x.host_for_update().data);
  std::thread other{[&] {
    for (int i = 0; i < 60; ++i) {
      fl().post(uses(update(x)),
                host_task([](view<std::uint32_t> all) { stir_on_host(all.data, all.size(), 7); }));
      std::this_thread::sleep_for(std::chrono::microseconds{20});
    }
  }};
  fl().repeat(400, [&] { fl().post(stir(x, 7), {.device = first()}); });
  other.join();
  EXPECT_EQ(on_host(x), stirred(start, 7, 460));
}

}  // namespace
}  // namespace flotilla::test
