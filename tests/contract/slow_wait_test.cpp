// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Waits that last long say what they wait for (runtime_options::report_waits_longer_than).

#include <chrono>
#include <optional>
#include <thread>

#include "support/contract_test.hpp"
#include "support/hold.hpp"
#include "support/kept_log.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SlowWait : public guest_test {
 protected:
  static constexpr auto lasts = "has lasted";
  void SetUp() override {
    FLOTILLA_NEED_CPU_DRIVER();
    guest_test::SetUp();
  }
  static runtime_options options(int workers = 1) {
    return {.devices = device_spec(1), .workers = workers, .report_waits_longer_than = 20ms};
  }
};

// requirement: each kind of wait names the task that runs, once, and then goes on
TEST_F(SlowWait, NamesWhatItWaitsFor) {
  for (wait_policy const policy : {wait_policy::yield, wait_policy::blocking}) {
    for (bool const waits_for_all : {false, true}) {
      runtime_options with = options();
      with.settings.all.schedule = policy;
      runtime rt{with};
      test_program const program{rt};
      held_word word{rt};
      kept_log const log;
      ticket const held = rt.submit(word.launch_of(program), {.label = "step 3"});
      std::thread waiting{[&] {
        if (waits_for_all) {
          rt.wait_idle();
        } else {
          held.wait();
        }
      }};
      EXPECT_TRUE(eventually([&] { return log.count(lasts) != 0; }));
      EXPECT_THAT(log.text(), AllOf(HasSubstr("kernel '"), HasSubstr("label 'step 3', device 0"),
                                    HasSubstr("goes on")));
      EXPECT_FALSE(held.ready());
      word.release();
      waiting.join();
      EXPECT_EQ(log.count(lasts), 1u) << log.text();
    }
  }
}

// requirement: a wait for a task that cannot begin also names what runs
TEST_F(SlowWait, NamesWhatATaskIsBehind) {
  for (int const workers : {0, 2}) {
    runtime rt{options(workers)};
    test_program const program{rt};
    held_word word{rt};
    kept_log const log;
    ticket const held = rt.submit(word.launch_of(program), {.label = "first"});
    ticket const late = rt.submit(host_task([] {}), {.label = "second", .after = {held}});
    std::thread watching{[&] {
      EXPECT_TRUE(eventually([&] { return log.count(lasts) != 0; }));
      word.release();
    }};
    late.wait();
    watching.join();
    EXPECT_THAT(log.text(), AllOf(HasSubstr("label 'second'"), HasSubstr("label 'first'")));
  }
}

// requirement: the end of a runtime says what it waits for, even after a wait was reported
TEST_F(SlowWait, TheEndOfARuntimeSaysWhatItWaitsFor) {
  latch running, open;
  kept_log const log;
  std::optional<runtime> rt{options(2)};
  rt->post(
      [&](task_context&) {
        running.open();
        open.wait();
      },
      {.label = "endless"});
  running.wait();  // on a worker, or the thread below would run the callable itself
  std::thread ending{[&] { rt.reset(); }};
  EXPECT_TRUE(eventually([&] { return log.count("the end of a runtime has lasted") != 0; }));
  EXPECT_THAT(log.text(), HasSubstr("a callable, label 'endless', device 0"));
  open.open();
  ending.join();
  EXPECT_EQ(log.count(lasts), 1u) << log.text();
}

// boundary: zero means no report
TEST_F(SlowWait, CanBeTurnedOff) {
  runtime_options with = options();
  with.report_waits_longer_than = 0ms;
  runtime rt{with};
  test_program const program{rt};
  held_word word{rt};
  kept_log const log;
  ticket const held = rt.submit(word.launch_of(program));
  // A wait that was not reported for so long is not reported at all, or the test finds nothing.
  EXPECT_FALSE(held.wait_for(100ms));
  word.release();
  held.wait();
  EXPECT_EQ(log.count(lasts), 0u) << log.text();
}

}  // namespace
}  // namespace flotilla::test
