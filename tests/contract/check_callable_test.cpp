// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// FLOTILLA_CHECK=order reports callables that were called before a predecessor has ended, and have
// not asked for their stream.

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kept_log.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

constexpr auto report = "has not asked for its stream";

class CheckCallable : public guest_test {
 protected:
  /// Runs a callable behind a kernel that still runs. @return the reports
  static std::string reports(std::optional<checks> which, callable function, bool is_held = true) {
    runtime_options options{.devices = device_spec(1), .workers = 1, .checks = which};
    options.report_calls_longer_than = {};
    runtime rt{options};
    test_program const program{rt};
    held_word word{rt};
    kept_log const log;
    std::atomic<bool> was_called{false};
    ticket const held = rt.submit(word.launch_of(program));
    EXPECT_TRUE(eventually([&] { return word.started(); }));
    if (!is_held) {
      word.release();
      held.wait();
    }
    ticket const called = rt.submit(
        [&, function = std::move(function)](task_context& context) mutable {
          function(context);
          was_called = true;
        },
        {.label = "reads early", .after = {held}});
    EXPECT_TRUE(eventually([&] { return was_called.load(); }));
    word.release();
    called.wait();
    return log.text();
  }
};

// requirement: the report names the callable and what to use instead
TEST_F(CheckCallable, ReportsACallableThatRunsTooEarly) {
  for (checks const which : {checks{.order = true}, checks{.arguments = true, .order = true}}) {
    EXPECT_THAT(reports(which, [](task_context&) {}),
                AllOf(HasSubstr(report), HasSubstr("reads early"), HasSubstr("host_task")));
  }
}

// requirement: no report if the callable uses its stream, if its predecessor has ended, or without
// the check
TEST_F(CheckCallable, DoesNotReportRightCallables) {
  EXPECT_THAT(reports(checks{.order = true},
                      [](task_context& context) { static_cast<void>(context.stream()); }),
              Not(HasSubstr(report)));
  EXPECT_THAT(reports(
                  checks{.order = true}, [](task_context&) {}, false),
              Not(HasSubstr(report)));
  EXPECT_THAT(reports(checks{}, [](task_context&) {}), Not(HasSubstr(report)));
}

}  // namespace
}  // namespace flotilla::test
