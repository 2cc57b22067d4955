// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// flow::repeat_while: loops that end by a condition on data.

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>

#include <flotilla/testing/fault_injection.hpp>

#include "contract/flow_fixture.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

using word_view = view<std::uint32_t const>;

class FlowRepeatWhile : public flow_test {
 protected:
  static constexpr std::size_t size = 48;
  /// x += 1 for all words
  void count_up(word_data& x, word_data const& one, device_ordinal where) {
    fl().post(add(x, one, 1), {.device = where});
  }
};
FLOTILLA_CONTRACT(FlowRepeatWhile);

// requirement: the loop ends at the first check whose condition is false, and most iterations are
// replayed
TEST_P(FlowRepeatWhile, EndsByItsCondition) {
  words ones(size, 1), zeros(size);
  word_data one{fl(), ones, "one"}, x{fl(), zeros, "x"};
  int calls = 0, checks = 0;
  std::size_t const done = fl().repeat_while(
      x,
      [&](word_view all) {
        ++checks;
        EXPECT_EQ(all(3), 10u * static_cast<unsigned>(checks));
        return all(0) < 995;
      },
      [&] {
        ++calls;
        count_up(x, one, last());
      },
      {.check_every = 10});
  EXPECT_EQ(done, 1000u);
  EXPECT_EQ(checks, 100);
  EXPECT_EQ(on_host(x), words(size, 1000));
  EXPECT_LT(calls, 10);
}

// requirement: every number of iterations between two checks gives the result of the loop, and the
// limit counts
TEST_P(FlowRepeatWhile, GivesTheResultOfALoop) {
  for (std::size_t const every : {1u, 2u, 3u, 7u, 300u}) {
    for (std::size_t const most : {1u, 4u, 5u, 40u, 700u}) {
      words host = iota(size), other = iota(size, 9);
      word_data x{fl(), host, "x"}, y{fl(), other, "y"};
      std::uint32_t const enough = 400;
      std::uint32_t turns = 0;
      std::size_t const done = fl().repeat_while(
          y,
          [&](word_view) {
            turns += static_cast<std::uint32_t>(every);
            return turns < enough;
          },
          [&] {
            fl().post(stir(x, 7), {.device = first()});
            fl().post(mix(y, x, x, 1), {.device = last()});
          },
          {.most = most, .check_every = every});
      std::size_t const rounds = (enough + every - 1) / every;
      EXPECT_EQ(done, std::min(most, rounds * every)) << every << ", " << most;
      words const expected = stirred(iota(size), 7, done);
      EXPECT_EQ(on_host(x), expected);
      EXPECT_EQ(on_host(y), mixed(expected, expected, 1));
    }
  }
}

// requirement: partial results of several devices are combined for each check, and none is used
// after that
TEST_P(FlowRepeatWhile, ChecksAReductionOfSeveralDevices) {
  words ones(size, 1);
  word_data one{fl(), ones, "one"}, sum{fl(), {size}, "sum"};
  std::size_t const done = fl().repeat_while(
      sum, [&](word_view all) { return all(1) < 600; },
      [&] {
        for (device_ordinal const each : ordinals()) { count_up(sum, one, each); }
      },
      {.check_every = 6});
  EXPECT_EQ(on_host(sum), words(size, static_cast<std::uint32_t>(done * ordinals().size())));
  EXPECT_GE(done * ordinals().size(), 600u);
  EXPECT_LT((done - 6) * ordinals().size(), 600u);
}

// requirement: replays do not run ahead of a condition whose value they do not write. regression:
// nothing waited for them, so they filled the window, and nobody noticed that one had failed
TEST_P(FlowRepeatWhile, ReplaysDoNotRunAhead) {
  FLOTILLA_NEED_CPU_DRIVER();
  words ones(size, 1), zeros(size), constant(size, 4);
  word_data one{fl(), ones, "one"}, x{fl(), zeros, "x"}, value{fl(), constant, "value"};
  auto const ended = [&] { return rt().counters(first()).tasks; };
  std::vector<std::uint64_t> ends;
  fl().repeat_while(
      value,
      [&](word_view) {
        ends.push_back(ended());
        testing::hang_kernel(rt().devices()[0], 1, std::chrono::milliseconds{20});
        return ends.size() < 9;
      },
      [&] { fl().post(stir(x, 7), {.device = first()}); }, {.check_every = 8});
  testing::clear_faults();
  // The first replays are submitted after the first check.
  for (std::size_t i = 3; i < ends.size(); ++i) {
    EXPECT_EQ(ends[i] - ends[i - 1], ends[3] - ends[2]) << "check " << i;
  }
  EXPECT_GE(ends[3] - ends[2], 8u);
  EXPECT_EQ(on_host(x), stirred(zeros, 7, 72));
}

// requirement: changes by another thread, and by the condition itself, are seen
TEST_P(FlowRepeatWhile, SeesChangesBetweenChecks) {
  words ones(size, 1), zeros(size);
  word_data one{fl(), ones, "one"}, x{fl(), zeros, "x"};
  int checks = 0;
  std::size_t const done = fl().repeat_while(
      x,
      [&](word_view) {
        std::thread other{[&] { x.host_for_update()(5) += 1000; }};
        other.join();
        return ++checks < 20;
      },
      [&] { count_up(x, one, last()); }, {.check_every = 8});
  EXPECT_EQ(done, 160u);
  words expected(size, 160);
  expected[5] += 20 * 1000;
  EXPECT_EQ(on_host(x), expected);
}

// requirement: an exception of the condition leaves the loop, and what was submitted remains
TEST_P(FlowRepeatWhile, MistakesAreNamed) {
  words ones(size, 1), zeros(size);
  word_data one{fl(), ones, "one"}, x{fl(), zeros, "x"}, empty{fl(), {size}, "empty"};
  auto const count = [&] { count_up(x, one, last()); };
  auto const never = [](word_view) { return false; };
  EXPECT_THROW(static_cast<void>(fl().repeat_while(
                   x, [](word_view) -> bool { throw std::range_error("enough"); }, count)),
               std::range_error);
  EXPECT_EQ(on_host(x), words(size, 16));
  EXPECT_THAT(thrown<invalid_argument>(
                  [&] { static_cast<void>(fl().repeat_while(x, never, count, {.most = 0})); }),
              HasSubstr("most is 0"));
  EXPECT_THAT(thrown<invalid_argument>([&] {
                static_cast<void>(fl().repeat_while(x, never, count, {.check_every = 0}));
              }),
              HasSubstr("check_every is 0"));
  EXPECT_THAT(
      thrown<invalid_argument>([&] { static_cast<void>(fl().repeat_while(empty, never, count)); }),
      HasSubstr("data 'empty' have no contents"));
  flow other{rt()};
  EXPECT_THAT(
      thrown<invalid_argument>([&] { static_cast<void>(other.repeat_while(x, never, count)); }),
      HasSubstr("data 'x' belong to another flow"));
  word_data moved = std::move(empty);
  EXPECT_THAT(
      thrown<invalid_argument>([&] { static_cast<void>(fl().repeat_while(empty, never, count)); }),
      HasSubstr("names no data"));
}

// requirement: if a task of the loop fails, the next check throws its error
TEST_P(FlowRepeatWhile, FailuresEndTheLoop) {
  words zeros(size);
  word_data x{fl(), zeros, "x"};
  int runs = 0;
  EXPECT_THAT(thrown<dependency_failed>([&] {
                static_cast<void>(fl().repeat_while(
                    x, [](word_view) { return true; },
                    [&] {
                      fl().post(uses(update(x)), host_task([&](view<std::uint32_t>) {
                                  if (++runs == 20) { throw std::runtime_error("iteration 20"); }
                                }));
                    }));
              }),
              EndsWith("iteration 20"));
}

}  // namespace
}  // namespace flotilla::test
