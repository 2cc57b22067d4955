// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// flow::repeat says why it does not replay.

#include <stop_token>

#include "contract/flow_fixture.hpp"
#include "support/kept_log.hpp"

namespace flotilla::test {
namespace {

class FlowRepeatText : public flow_test {
 protected:
  void SetUp() override {
    flow_test::SetUp();
    set_log_level(log_level::info);
  }
  void TearDown() override {
    set_log_level(log_level::warning);
    flow_test::TearDown();
  }
  /// Repeats an iteration. @return what the flow says.
  template <class Iteration>
  std::string said(Iteration const& iteration, std::size_t count = 50) {
    kept_log const log;
    fl().repeat(count, iteration);
    EXPECT_LE(log.count("flow::repeat"), 1u) << log.text();
    return log.text();
  }
};
FLOTILLA_CONTRACT(FlowRepeatText);

// requirement: one line of the level info for each call, with the reason
TEST_P(FlowRepeatText, NamesTheReason) {
  words host = iota(64), other = iota(64), sum = iota(64);
  word_data x{fl(), host, "x"}, y{fl(), other, "y"}, total{fl(), sum, "total"};
  auto const one_step = [&] { fl().post(stir(x, 7), {.device = last()}); };
  EXPECT_THAT(said(one_step), HasSubstr("flow::repeat replays 4"));
  if (device_count() > 1) {
    EXPECT_THAT(said([&] {
                  fl().post(stir(x, 7), {.device = last()});
                  fl().post(add(total, x, 2), {.device = last()});
                  fl().post(add(total, x, 2), {.device = first()});
                  fl().post(stir(total, 1), {.device = last()});
                }),
                HasSubstr("calls its function for each of 50 iterations, because a task reads what "
                          "the iteration reduces at more than one place"));
  }
  EXPECT_THAT(said([&] { fl().post(uses(read(x)), host_task([](auto) {})); }),
              HasSubstr("because it submits a callable or a host task"));
  EXPECT_THAT(said([&] {
                one_step();
                static_cast<void>(x.host());
              }),
              HasSubstr("because it calls host()"));
  std::uint32_t salt = 0;
  EXPECT_THAT(said([&] { fl().post(stir(x, ++salt), {.device = last()}); }),
              HasSubstr("because two iterations in a row submitted different"));
  std::stop_source stop;
  EXPECT_THAT(said([&] { fl().post(stir(x, 1), {.stop = stop.get_token()}); }),
              HasSubstr("because a task has a stop token"));
  EXPECT_THAT(said([&] { fl().post(stir(x, 1), {.batch = false}); }),
              HasSubstr("because a task has 'batch = false'"));
  EXPECT_THAT(said([] {}), HasSubstr("because it submits no task"));
  EXPECT_EQ(said(one_step, 3), "") << "nobody expects that so few iterations are replayed";
}

// requirement: FLOTILLA_EXPLAIN=repeat says the same whatever the level of the log is
TEST_P(FlowRepeatText, ExplainsOnRequest) {
  set_log_level(log_level::error);
  words host = iota(64);
  flow explained{rt(), {.explain = explanations{.repeat = true}}};
  word_data x{explained, host, "x"};
  ::testing::internal::CaptureStderr();
  explained.repeat(20, [&] { explained.post(uses(read(x)), host_task([](auto) {})); });
  explained.repeat(2, [&] { explained.post(stir(x, 7)); });
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("because it submits a callable or a host task"),
                    HasSubstr("because there are fewer than 5 iterations")));
  EXPECT_TRUE(explanations::parse("repeat").repeat);
  EXPECT_FALSE(explanations::parse("repeat").placement);
  EXPECT_TRUE(explanations::parse("all").repeat);
}

}  // namespace
}  // namespace flotilla::test
