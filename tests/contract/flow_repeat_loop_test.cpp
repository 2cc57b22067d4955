// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// flow::repeat: what cannot be replayed runs as a loop.

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <utility>

#include "contract/flow_fixture.hpp"

namespace flotilla::test {
namespace {

class FlowRepeatLoop : public flow_test {
 protected:
  static constexpr std::size_t count = 96;
};
FLOTILLA_CONTRACT(FlowRepeatLoop);

// requirement: an iteration that changes what it does is called each time
TEST_P(FlowRepeatLoop, CallsAnIterationThatChanges) {
  words c_host = iota(count, 100);
  word_data c{fl(), c_host, "c"};
  words x_host = iota(count), y_host = iota(count, 50);
  word_data x{fl(), x_host, "x"}, y{fl(), y_host, "y"};
  int calls = 0;
  fl().repeat(25, [&] {
    fl().post(mix(y, x, c, 5));
    std::swap(x, y);
    ++calls;
  });
  EXPECT_EQ(calls, 25);
  words expected = x_host;
  for (int i = 0; i < 25; ++i) { expected = mixed(expected, c_host, 5); }
  EXPECT_EQ(on_host(x), expected);

  std::uint32_t salt = 0;
  word_data z{fl(), {count}, "z"};
  fl().repeat(25, [&] { fl().post(mix(z, x, c, ++salt)); });
  EXPECT_EQ(on_host(z), mixed(expected, c_host, 25));
}

// requirement: an iteration with tasks that cannot be recorded is called each time
TEST_P(FlowRepeatLoop, CallsAnIterationThatCannotBeRecorded) {
  words host = iota(count);
  word_data x{fl(), host, "x"}, sum{fl(), {count}, "sum"};
  int calls = 0;
  fl().repeat(20, [&] {
    ++calls;
    fl().post(stir(x, 7));
    fl().post(uses(update(x)), host_task([](view<std::uint32_t> all) { ++all(0); }));
  });
  words expected = iota(count);  // not `host`, which the host tasks change
  for (int i = 0; i < 20; ++i) {
    stir_on_host(expected.data(), count, 7);
    ++expected[0];
  }
  EXPECT_EQ(calls, 20);
  EXPECT_EQ(on_host(x), expected);

  // A host task combines the partial results before the read.
  calls = 0;
  fl().repeat(20, [&] {
    ++calls;
    fl().post(add(sum, x, 1));
    fl().post(uses(read(sum)), host_task([](view<std::uint32_t const>) {}));
  });
  EXPECT_EQ(calls, 20);
  for (std::uint32_t& each : expected) { each *= 20; }
  EXPECT_EQ(on_host(sum), expected);
}

// requirement: an iteration that looks at results is called each time, and sees them
TEST_P(FlowRepeatLoop, CallsAnIterationThatReadsOnTheHost) {
  words host = iota(count);
  word_data x{fl(), host, "x"};
  words seen;
  fl().repeat(20, [&] {
    fl().post(stir(x, 7), {.device = last()});
    seen.push_back(x.host()(1));
  });
  ASSERT_EQ(seen.size(), 20u);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i], stirred(iota(count), 7, i + 1)[1]);
  }
}

// requirement: an iteration may make data of its own
TEST_P(FlowRepeatLoop, CallsAnIterationThatMakesData) {
  words c_host = iota(count, 100);
  word_data c{fl(), c_host, "c"};
  words host = iota(count);
  word_data x{fl(), host, "x"};
  fl().repeat(20, [&] {
    word_data temporary{fl(), {count}, "temporary"};
    fl().post(mix(temporary, x, c, 1));
    fl().post(mix(x, temporary, c, 2));
  });
  words expected = iota(count);
  for (int i = 0; i < 20; ++i) {
    words const temporary = mixed(expected, c_host, 1);
    expected = mixed(temporary, c_host, 2);
  }
  EXPECT_EQ(on_host(x), expected);
}

// requirement: inside a callable the iteration is called each time, because nothing may wait there
TEST_P(FlowRepeatLoop, WorksInsideACallable) {
  words host = iota(count);
  word_data x{fl(), host, "x"};
  std::atomic<int> calls{0};
  auto const call = [&](task_context&) {
    fl().repeat(20, [&] {
      ++calls;
      fl().post(stir(x, 7));
    });
  };
  rt().submit(call, {.device = last()}).wait();
  EXPECT_EQ(on_host(x), stirred(iota(count), 7, 20));
  EXPECT_EQ(calls, 20);
}

// requirement: an exception of an iteration leaves repeat; the iterations before remain
TEST_P(FlowRepeatLoop, PassesOnExceptions) {
  words host = iota(count);
  word_data x{fl(), host, "x"};
  int calls = 0;
  auto const iteration = [&] {
    if (++calls == 3) { throw std::runtime_error{"enough"}; }
    fl().post(stir(x, 7));
  };
  EXPECT_THROW(fl().repeat(20, iteration), std::runtime_error);
  EXPECT_EQ(on_host(x), stirred(iota(count), 7, 2));
  fl().repeat(10, [&] { fl().post(stir(x, 7)); });
  EXPECT_EQ(on_host(x), stirred(iota(count), 7, 12));
}

// regression: a replay never runs again, so the loss of a device failed a task that would have
TEST_P(FlowRepeatLoop, CallsAnIterationWithRepeatableTasksIfADeviceIsIsolated) {
  FLOTILLA_NEED_CPU_DRIVER();
  auto const calls_with = [&](isolation kind) {
    runtime_options made = options();
    made.settings.all.isolation = kind;
    runtime own{std::move(made)};
    flow fl{own};
    auto const mix = own.load(flow_kernels).kernel(flow_kernels.mix_words).over(count, 32);
    words const host = iota(count);
    word_data x{fl, {count}, "x"}, c{fl, {count}, "c"}, y{fl, {count}, "y"};
    for (word_data* const each : {&x, &c}) {
      std::copy(host.begin(), host.end(), each->host_for_update().data);
    }
    int calls = 0;
    fl.repeat(20, [&] {
      ++calls;
      fl.post(mix(write(y), read(x), read(c), static_cast<std::uint32_t>(count), 5u),
              {.device = first(), .repeatable = true});
    });
    EXPECT_EQ(on_host(y), mixed(host, host, 5));
    return calls;
  };
  EXPECT_EQ(calls_with(isolation::process), 20);
  EXPECT_LT(calls_with(isolation::none), 10);
}

}  // namespace
}  // namespace flotilla::test
