// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What a runtime without an error handler prints about posted tasks.

#include <stdexcept>
#include <stop_token>
#include <tuple>

#include "support/contract_test.hpp"
#include "support/kept_log.hpp"

namespace flotilla::test {
namespace {

class PostPrint : public contract_test {
 protected:
  static constexpr auto failed = "a posted task failed";
  static void fail(task_context&) { throw std::runtime_error{"a real failure"}; }
  static void nothing(task_context&) {}
};
FLOTILLA_CONTRACT(PostPrint);

// requirement: one line for an error, and one for the number of posted tasks behind it, also behind
// tasks with tickets
TEST_P(PostPrint, PrintsEachFirstCauseOnceAndACount) {
  kept_log const log;
  latch open;
  open_on_exit const opens{open};
  ticket const held = rt().submit(host_task([&] { open.wait(); }));
  ticket last = rt().submit(&fail, {.after = {held}});
  for (int i = 0; i < 3; ++i) {
    rt().post(&nothing, {.after = {last}});
    last = rt().submit(&nothing, {.after = {last}});
  }
  rt().post(&fail, {.after = {held}});
  open.open();
  rt().wait_idle();
  EXPECT_EQ(log.count(failed), 2u) << log.text();
  EXPECT_EQ(log.count("2 posted tasks did not run because of this error: a callable"), 1u)
      << log.text();
  EXPECT_EQ(log.lines().size(), 3u) << log.text();
  rt().wait_idle();
  EXPECT_EQ(log.lines().size(), 3u) << "counts are printed once";
}

// requirement: the line for an exception of a callable or host task names the task
TEST_P(PostPrint, NamesTheTaskThatHasThrown) {
  kept_log const log;
  rt().post(&fail, {.device = last(), .label = "save"});
  rt().post(host_task([] { throw 7; }), {.label = "read"});
  rt().wait_idle();
  EXPECT_EQ(log.count("a posted task failed: a callable, label 'save', device " +
                      std::to_string(last().value)),
            1u)
      << log.text();
  EXPECT_EQ(log.count("threw: a real failure"), 1u) << log.text();
  EXPECT_EQ(log.count("a posted task failed: a host task, label 'read', on the host threw: an "
                      "exception that is not a std::exception"),
            1u)
      << log.text();
}

// requirement: the end of the runtime prints the counts as well
TEST_P(PostPrint, TheEndPrintsTheCounts) {
  kept_log const log;
  latch open;
  open_on_exit const opens{open};
  ticket held = rt().submit(host_task([&] { open.wait(); }));
  ticket cause = rt().submit(&fail, {.after = {held}});
  for (int i = 0; i < 5; ++i) { rt().post(&nothing, {.after = {cause}}); }
  open.open();
  held = {};
  cause = {};
  stop();
  EXPECT_EQ(log.count(failed), 1u) << log.text();
  EXPECT_EQ(log.count("4 posted tasks did not run"), 1u) << log.text();
}

// requirement: nothing for cancellations that the program has asked for, nor for tasks and bulks
// behind them
TEST_P(PostPrint, PrintsNoCancellations) {
  kept_log const log;
  std::stop_source stop;
  latch open;
  open_on_exit const opens{open};
  ticket const held = rt().submit(host_task([&] { open.wait(); }));
  flow work{rt()};
  data<std::uint32_t> x{work, {8}};
  auto const write = program().write.with_shape({1}, {1});
  for (int i = 0; i < 4; ++i) {
    work.post(write(flotilla::write(x), 1u), {.after = {held}, .stop = stop.get_token()});
    rt().post(&nothing, {.after = {held}, .stop = stop.get_token()});
  }
  ticket const cancelled = rt().submit(&nothing, {.after = {held}, .stop = stop.get_token()});
  rt().post(&nothing, {.after = {cancelled}});
  static_cast<void>(rt().submit(
      bulk(program().nothing.with_shape({1}, {1}), 20, [](std::size_t) { return std::tuple<>{}; }),
      {.after = {cancelled}}));
  stop.request_stop();
  open.open();
  rt().wait_idle();
  EXPECT_EQ(log.text(), "");
}

}  // namespace
}  // namespace flotilla::test
