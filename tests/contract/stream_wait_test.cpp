// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Streams of the application that wait for tasks (enqueue_wait).

#include <atomic>
#include <chrono>
#include <thread>

#include "application_fixture.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

class StreamWait : public application_fixture {
 protected:
  /// Submits a task that cannot be launched before the gate was opened `opened` times.
  ticket submit_behind_gate(std::uint32_t opened = 1) {
    CUstream const gate = app_->make_stream();
    CUevent const event = app_->make_event();
    app_->wait_at_gate(gate, opened);
    app_->record(event, gate);
    return rt().submit(program().nothing.with_shape({1}, {1})(),
                       {.device = last(), .after = {rt().submit(event)}});
  }
  /// Pumps for a while. @return whether the stream of the application has not written `value`.
  bool stays_unwritten(std::uint32_t value) {
    auto const end = std::chrono::steady_clock::now() + 20ms;
    while (std::chrono::steady_clock::now() < end) {
      rt().pump();
      if (app_->written() == value) { return false; }
    }
    return true;
  }
  bool is_written(std::uint32_t value) {
    return pumping(rt(), [&] { return app_->written() == value; });
  }
};
FLOTILLA_CONTRACT(StreamWait);

// requirement: the stream waits for a running task, and the host does not wait
TEST_P(StreamWait, StreamWaitsForARunningTask) {
  held_word word{rt()};
  ticket const task = rt().submit(word.launch_of(program()), {.device = last()});
  EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
  enqueue_wait(task, stream_);
  app_->write(stream_, 7);
  EXPECT_TRUE(stays_unwritten(7));
  word.release();
  EXPECT_TRUE(is_written(7));
  EXPECT_TRUE(task.ready());
}

// requirement: the stream waits for a task that is not launched yet. Another stream of the
// application, on which the task depends, goes on meanwhile
TEST_P(StreamWait, StreamWaitsForATaskThatIsNotLaunched) {
  ticket const task = submit_behind_gate();
  enqueue_wait(task, stream_);
  app_->write(stream_, 7);
  EXPECT_TRUE(stays_unwritten(7));
  app_->open_gate();
  EXPECT_TRUE(is_written(7));
  EXPECT_TRUE(task.ready());
}

// requirement: continuations that block do not delay a stream that waits for a task
TEST_P(StreamWait, BlockedContinuationsDelayNoStream) {
  if (worker_count() == 0) { GTEST_SKIP() << "needs threads that run continuations"; }
  constexpr int threads = 8;  // documented in <flotilla/task/executor.hpp>
  latch go;
  std::atomic<int> inside{0};
  {
    open_on_exit const always{go};
    ticket const ended = rt().submit(program().nothing.with_shape({1}, {1})());
    for (int i = 0; i < threads + 4; ++i) {
      ended.then([&](std::exception_ptr) {
        ++inside;
        go.wait();
      });
    }
    EXPECT_TRUE(pumping(rt(), [&] { return inside == threads; })) << inside;
    ticket const task = submit_behind_gate();
    enqueue_wait(task, stream_);
    app_->write(stream_, 7);
    EXPECT_TRUE(stays_unwritten(7));
    app_->open_gate();
    EXPECT_TRUE(is_written(7));
  }
  stop();  // the continuations use `go`
}

// requirement: a stream never waits for a task that has ended, whether it failed or not
TEST_P(StreamWait, EndedAndFailedTasksLetTheStreamPass) {
  ticket const ended = rt().submit(program().nothing.with_shape({1}, {1})());
  ended.wait();
  enqueue_wait(ended, stream_);
  ticket const gate = submit_behind_gate();
  ticket const failed = rt().submit(refused_launch(program()), {.after = {gate}});
  enqueue_wait(failed, stream_);
  app_->write(stream_, 7);
  EXPECT_TRUE(stays_unwritten(7));
  app_->open_gate();
  EXPECT_TRUE(is_written(7));
  EXPECT_THROW(failed.wait(), driver_error);
}

// requirement: the two directions together. Each round, a task waits for an event of the stream,
// and the stream waits for the task
TEST_P(StreamWait, TasksAndStreamTakeTurns) {
  constexpr std::uint32_t rounds = 30;
  device_word value{rt(), first(), 1};
  std::uint32_t expected = 1;
  ticket task;
  for (std::uint32_t i = 1; i <= rounds; ++i) {
    app_->write(stream_, i);
    CUevent const event = app_->make_event();
    app_->record(event, stream_);
    task = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 3u, i),
                       {.after = {rt().submit(event)}});
    enqueue_wait(task, stream_);
    expected = expected * 3 + i;
  }
  app_->write(stream_, rounds + 1);
  EXPECT_TRUE(is_written(rounds + 1));
  EXPECT_EQ(value.read({task}), expected);
}

// error guess: many waits in one stream at the same time
TEST_P(StreamWait, ManyTasksAtOnce) {
  constexpr int tasks = 50;  // with 600 tasks, this test hung on an H200
  ticket const gate = submit_behind_gate();
  std::vector<ticket> all;
  for (int i = 0; i < tasks; ++i) {
    all.push_back(rt().submit(program().nothing.with_shape({1}, {1})(), {.after = {gate}}));
    enqueue_wait(all.back(), stream_);
  }
  app_->write(stream_, 7);
  EXPECT_TRUE(stays_unwritten(7));
  app_->open_gate();
  EXPECT_TRUE(is_written(7));
}

// requirement: the destructor waits until streams no longer use memory of the runtime
TEST_P(StreamWait, RuntimeMayEndBeforeTheStreamHasPassed) {
  app_->wait_at_gate(stream_);
  {
    held_word word{rt()};
    ticket const task = rt().submit(word.launch_of(program()), {.device = last()});
    EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
    enqueue_wait(task, stream_);
    app_->write(stream_, 7);
    word.release();
    task.wait();
  }
  std::jthread const opener([&] {
    std::this_thread::sleep_for(20ms);
    app_->open_gate();
  });
  stop();
  EXPECT_TRUE(eventually([&] { return app_->written() == 7; }));
}

// requirement: if the runtime uses the context of the stream, the call waits until the task is
// launched, but not until it has ended
TEST_P(StreamWait, StreamOfTheRuntimesContextWaits) {
  stop();
  runtime_options shared = options();
  shared.devices = device_spec(1);
  shared.settings.all.context = context_source::adopted(app_->context());
  {
    runtime own{shared};
    test_program const kernels{own};
    held_word word{own};
    ticket const task = own.submit(word.launch_of(kernels));
    enqueue_wait(task, stream_);
    EXPECT_TRUE(eventually([&] { return word.started(); }));
    EXPECT_FALSE(task.ready());
    app_->write(stream_, 7);
    EXPECT_NE(app_->written(), 7u);
    word.release();
    EXPECT_TRUE(eventually([&] { return app_->written() == 7; }));
    task.wait();
  }
}

class StreamWaitOnce : public StreamWait {};
INSTANTIATE_TEST_SUITE_P(all_tbb_threads, StreamWaitOnce,
                         ::testing::Values(arrangement{1, 1, tbb_threads::all}), arrangement_name);

// requirement
TEST_P(StreamWaitOnce, EmptyTicketIsRefused) {
  EXPECT_THAT(thrown<invalid_argument>([&] { enqueue_wait(ticket{}, stream_); }),
              HasSubstr("no task"));
}

// error guess: without a current context, the null stream names no stream
TEST_P(StreamWaitOnce, NullStreamNeedsACurrentContext) {
  ticket const task = rt().submit(program().nothing.with_shape({1}, {1})());
  EXPECT_THAT(thrown<driver_error>([&] { enqueue_wait(task, nullptr); }),
              HasSubstr("enqueue_wait"));
  app_->inside([&] {
    enqueue_wait(task, nullptr);
    return CUDA_SUCCESS;
  });
}

// requirement: a ticket may outlive its runtime, and its task has ended by then
TEST_P(StreamWaitOnce, TicketOfAnEndedRuntimeNeedsNoWait) {
  ticket const task = rt().submit(program().nothing.with_shape({1}, {1})());
  stop();
  enqueue_wait(task, stream_);
  app_->write(stream_, 7);
  EXPECT_TRUE(eventually([&] { return app_->written() == 7; }));
}

}  // namespace
}  // namespace flotilla::test
