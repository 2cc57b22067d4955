// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tasks that wait for events of the application.

#include <algorithm>
#include <chrono>
#include <thread>

#include <flotilla/testing/fault_injection.hpp>

#include "application_fixture.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

class EventWait : public application_fixture {
 protected:
  /// Records an event that completes when the gate was opened `opened` times.
  CUevent event_behind_gate(std::uint32_t opened = 1) {
    CUevent const made = app_->make_event();
    app_->wait_at_gate(stream_, opened);
    app_->record(made, stream_);
    return made;
  }
  /// Pumps for a while. @return whether the task is still open.
  bool stays_open(ticket const& task) {
    auto const end = std::chrono::steady_clock::now() + 20ms;
    while (std::chrono::steady_clock::now() < end) {
      rt().pump();
      if (task.ready()) { return false; }
    }
    return true;
  }
};
FLOTILLA_CONTRACT(EventWait);

// requirement: a task after an event begins after the event has completed. Meanwhile other
// tasks run, on the same device too
TEST_P(EventWait, TaskBeginsAfterTheEvent) {
  device_word value{rt(), last(), 1};
  device_word other{rt(), first(), 1};
  ticket const event = rt().submit(event_behind_gate());
  ticket const after =
      rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 5u), {.after = {event}});
  ticket const beside = rt().submit(program().step.with_shape({1}, {1})(other.buffer(), 2u, 6u));
  EXPECT_EQ(other.read({beside}), 8u);
  EXPECT_TRUE(stays_open(after));
  app_->open_gate();
  EXPECT_EQ(value.read({after}), 7u);
  event.wait();
}

// requirement: the task of an event ends after the tasks in its own `after`, even if the event has
// completed long before
TEST_P(EventWait, WaitsForItsPredecessorsToo) {
  held_word word{rt()};
  CUevent const never_recorded = app_->make_event();
  ticket const kernel = rt().submit(word.launch_of(program()), {.device = last()});
  ticket const event = rt().submit(never_recorded, {.device = last(), .after = {kernel}});
  EXPECT_TRUE(stays_open(event));
  word.release();
  event.wait();
  EXPECT_TRUE(kernel.ready());
}

// requirement: each event releases the tasks after its own ticket, and no others
TEST_P(EventWait, ManyEventsReleaseTheirOwnTasks) {
  constexpr std::uint32_t events = 40;
  std::vector<CUstream> streams;
  for (int i = 0; i < 4; ++i) { streams.push_back(app_->make_stream()); }
  host_buffer<std::uint32_t> values{rt(), events + 1};
  std::fill(values.begin(), values.end(), 0u);
  std::vector<ticket> tasks(events + 1);
  for (std::uint32_t opened = 1; opened <= events; ++opened) {
    CUevent const event = app_->make_event();
    app_->wait_at_gate(streams[opened % 4], opened);
    app_->record(event, streams[opened % 4]);
    task_options how{.device = ordinals()[opened % ordinals().size()]};
    how.after.add(rt().submit(event, how));
    tasks[opened] =
        rt().submit(program().write.with_shape({1}, {1})(values.data() + opened, opened), how);
  }
  for (std::uint32_t opened = 1; opened <= events; ++opened) {
    app_->open_gate(opened);
    tasks[opened].wait();
    EXPECT_EQ(values[opened], opened);
    if (opened < events) { EXPECT_FALSE(tasks[opened + 1].ready()); }
  }
}

// requirement: the task of an event can be cancelled until the event has completed. Then it ends
// without waiting for the event, and tasks after it do not run
TEST_P(EventWait, CancelledTaskEndsBeforeTheEvent) {
  device_word value{rt(), last(), 1};
  ticket const event = rt().submit(event_behind_gate(), {.label = "upload"});
  ticket const after =
      rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 5u), {.after = {event}});
  EXPECT_TRUE(stays_open(event));
  EXPECT_TRUE(event.cancel());
  EXPECT_THAT(thrown<task_cancelled>([&] { event.wait(); }), HasSubstr("upload"));
  EXPECT_THROW(after.wait(), dependency_failed);
  app_->open_gate();
  ticket const done = rt().submit(app_->make_event());
  done.wait();
  EXPECT_FALSE(done.cancel());
  EXPECT_EQ(value.read(), 1u);
}

// requirement: the destructor waits for events as for all tasks
TEST_P(EventWait, TheDestructorWaitsForTheEvent) {
  CUevent const event = event_behind_gate();
  ticket const open = rt().submit(event);
  std::jthread const opener([&] {
    std::this_thread::sleep_for(20ms);
    app_->open_gate();
  });
  stop();
  EXPECT_TRUE(open.ready());
}

// requirement: an event can be waited for by a task without a ticket, and by one that is submitted
// only if there is room
TEST_P(EventWait, PostAndTrySubmit) {
  CUevent const event = event_behind_gate();
  rt().post(event);
  auto const tried = rt().try_submit(event);
  ASSERT_TRUE(tried);
  EXPECT_TRUE(stays_open(*tried));
  app_->open_gate();
  tried->wait();
  rt().wait_idle();
}

class EventWaitOnce : public EventWait {};
INSTANTIATE_TEST_SUITE_P(all_tbb_threads, EventWaitOnce,
                         ::testing::Values(arrangement{1, 1, tbb_threads::all}), arrangement_name);

// requirement
TEST_P(EventWaitOnce, NullEventAndUnknownDeviceAreRefused) {
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)rt().submit(nullptr); }),
              HasSubstr("the event is null"));
  CUevent const event = app_->make_event();
  EXPECT_THAT(
      thrown<unknown_device>([&] { (void)rt().submit(event, {.device = device_ordinal{9}}); }),
      HasSubstr("9"));
}

// requirement: an error of the event fails the task, and the tasks after it do not run
TEST_P(EventWaitOnce, ErrorOfTheEventFailsTheTask) {
  FLOTILLA_NEED_CPU_DRIVER();
  device_word value{rt(), first(), 1};
  CUevent const event = event_behind_gate();
  testing::fail_call("cuEventQuery", 1, driver_status::invalid_handle);
  ticket const failed = rt().submit(event, {.label = "upload"});
  ticket const after =
      rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 5u), {.after = {failed}});
  EXPECT_THAT(thrown<driver_error>([&] { failed.wait(); }),
              ::testing::AllOf(HasSubstr("cuEventQuery"), HasSubstr("upload")));
  EXPECT_THROW(after.wait(), dependency_failed);
  EXPECT_EQ(value.read(), 1u);
}

}  // namespace
}  // namespace flotilla::test
