// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Where continuations run: on an executor of the application, or on threads of the runtime.

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <flotilla/task/executor.hpp>

#include "contract/continuation.hpp"
#include "support/child.hpp"
#include "support/contract_test.hpp"
#include "support/driver_in_use.hpp"

namespace flotilla::test {
namespace {

/// Runs jobs on one thread of its own, in the order of their arrival, after `open` was called.
class thread_executor final : public executor {
 public:
  ~thread_executor() override {
    open();
    thread_.request_stop();
    thread_.join();
  }
  void execute(executor_job job) override {
    std::lock_guard const lock{mutex_};
    jobs_.push_back(std::move(job));
    arrived_.notify_one();
  }
  void open() {
    std::lock_guard const lock{mutex_};
    open_ = true;
    arrived_.notify_one();
  }
  [[nodiscard]] std::size_t waiting() {
    std::lock_guard const lock{mutex_};
    return jobs_.size();
  }
  [[nodiscard]] std::thread::id id() const { return thread_.get_id(); }

 private:
  std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<executor_job> jobs_;
  bool open_ = false;
  std::jthread thread_{[this](std::stop_token const& stop) {
    std::unique_lock lock{mutex_};
    while (arrived_.wait(lock, stop, [this] { return open_ && !jobs_.empty(); })) {
      executor_job job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      lock.lock();
    }
  }};
};

/// Calls a function for each job.
class function_executor final : public executor {
 public:
  explicit function_executor(std::function<void(executor_job)> run) : run_{std::move(run)} {}
  void execute(executor_job job) override { run_(std::move(job)); }

 private:
  std::function<void(executor_job)> run_;
};

class Executor : public contract_test {
 protected:
  runtime& start_with(std::shared_ptr<executor> runs) {
    runtime_options with = options();
    with.continuation_executor = std::move(runs);
    // Tests count the lines that are printed. A busy machine can make a continuation slow.
    with.report_calls_longer_than = std::chrono::milliseconds{0};
    return start(std::move(with));
  }
  [[nodiscard]] ticket nothing() {
    return rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()});
  }
};
FLOTILLA_CONTRACT(Executor);

// requirement: continuations and on_error run on the executor, without a context of flotilla
TEST_P(Executor, RunsContinuationsAndErrorHandlers) {
  auto const own = std::make_shared<thread_executor>();
  own->open();
  std::atomic<int> there{0}, elsewhere{0};
  auto const note = [&](std::exception_ptr const&) {
    bool const right = std::this_thread::get_id() == own->id() && current_context() == nullptr;
    ++(right ? there : elsewhere);
  };
  runtime_options with = options();
  with.continuation_executor = own;
  with.on_error = note;
  start(std::move(with));
  nothing().then(note);
  rt().submit(host_task(note), {.after = {nothing(), nothing()}}).wait();
  rt().submit(host_task([&] { note(nullptr); })).wait();
  rt().post([](task_context&) { throw my_error{}; });
  EXPECT_TRUE(pumping(rt(), [&] { return there == 4; })) << there;
  EXPECT_EQ(elsewhere, 0);
}

// requirement: wait_idle and the runtime's destructor wait until the executor has run all jobs
TEST_P(Executor, WaitIdleAndTheDestructorWaitForJobs) {
  for (bool const destroys : {false, true}) {
    auto const own = std::make_shared<thread_executor>();
    std::atomic<int> ran{0};
    start_with(own);
    for (int i = 0; i < 3; ++i) {
      nothing().then([&](std::exception_ptr) { ++ran; });
    }
    EXPECT_TRUE(pumping(rt(), [&] { return own->waiting() == 3; }));
    EXPECT_EQ(ran, 0);
    std::thread opener{[&] {
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
      own->open();
    }};
    destroys ? stop() : rt().wait_idle();
    EXPECT_EQ(ran, 3);
    opener.join();
    stop();
  }
}

// requirement: an executor that runs jobs inside `execute` works in every arrangement
TEST_P(Executor, MayRunJobsAtOnce) {
  std::atomic<int> ran{0};
  start_with(std::make_shared<function_executor>([](executor_job job) {
    EXPECT_TRUE(job);
    job();
    EXPECT_FALSE(job);
    EXPECT_THROW(job(), invalid_argument);
  }));
  ticket end = nothing();
  for (int i = 0; i < 1000; ++i) {
    end.then([&](std::exception_ptr) { ++ran; });
    end = rt().submit(host_task([&] { ++ran; }), {.after = {end}});
  }
  end.wait();
  rt().wait_idle();
  EXPECT_EQ(ran, 2000);
}

// requirement: a continuation is not lost if the executor throws. One message has the exception
TEST_P(Executor, ThatThrowsLosesNothing) {
  ::testing::internal::CaptureStderr();
  std::atomic<int> ran{0};
  start_with(std::make_shared<function_executor>(
      [](executor_job) { throw std::runtime_error{"no room in the pool"}; }));
  for (int i = 0; i < 20; ++i) {
    nothing().then([&](std::exception_ptr why) {
      EXPECT_EQ(message_of(why), "none");
      ++ran;
    });
  }
  rt().wait_idle();
  EXPECT_EQ(ran, 20);
  stop();
  std::string const printed = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(printed, HasSubstr("no room in the pool"));
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1) << printed;
}

// requirement: a continuation is not lost if its job is destroyed or overwritten. One message is
// printed
TEST_P(Executor, ThatDropsJobsLosesNothing) {
  ::testing::internal::CaptureStderr();
  std::atomic<int> ran{0};
  std::mutex mutex;
  executor_job kept;
  start_with(std::make_shared<function_executor>([&](executor_job job) {
    std::lock_guard const lock{mutex};
    kept = std::move(job);
  }));
  for (int i = 0; i < 20; ++i) {
    nothing().then([&](std::exception_ptr) { ++ran; });
  }
  EXPECT_TRUE(pumping(rt(), [&] { return ran == 19; })) << ran;
  { executor_job const dropped{std::move(kept)}; }
  EXPECT_TRUE(pumping(rt(), [&] { return ran == 20; })) << ran;
  stop();
  std::string const printed = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(printed, HasSubstr("destroyed a job"));
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1) << printed;
}

// requirement: without an executor, continuations of a runtime with workers run on threads of the
// runtime. There are at most 8 of these threads. Further continuations wait for one of them
TEST_P(Executor, ByDefaultIsABoundedSetOfThreads) {
  if (worker_count() == 0) { GTEST_SKIP() << "needs workers"; }
  constexpr int max_threads = 8;  // documented in <flotilla/task/executor.hpp>
  std::atomic<int> inside{0}, ran{0}, at_home{0};
  latch go;
  static_cast<void>(rt());
  {
    open_on_exit const always{go};
    std::vector<ticket> tasks;
    for (int i = 0; i < 3 * max_threads; ++i) {
      tasks.push_back(nothing());
      tasks.back().then([&, here = std::this_thread::get_id()](std::exception_ptr) {
        at_home += std::this_thread::get_id() == here ? 1 : 0;
        ++inside;
        go.wait();
        ++ran;
      });
    }
    for (ticket const& each : tasks) { each.wait(); }
    EXPECT_TRUE(pumping(rt(), [&] { return inside == max_threads; })) << inside;
    for (int i = 0; i < 20; ++i) {
      rt().pump();
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    EXPECT_EQ(inside, max_threads);
    EXPECT_EQ(ran, 0);
  }
  stop();
  EXPECT_EQ(ran, 3 * max_threads);
  EXPECT_EQ(at_home, 0) << "a waiting or pumping thread ran a continuation";
}

class ExecutorAlone : public guest_test {};

// error guess: if the system has no thread for the runtime, continuations still run
TEST_F(ExecutorAlone, IsNotNeededIfNoThreadCanBeStarted) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{{.devices = device_spec(1), .workers = 1}};
    rt.submit([](task_context&) {}).wait();
    // From here on, no thread can be created with default attributes, as std::thread does.
    pthread_attr_t huge;
    ASSERT_EQ(::pthread_attr_init(&huge), 0);
    ASSERT_EQ(::pthread_attr_setstacksize(&huge, std::size_t{1} << 50), 0);
    ASSERT_EQ(::pthread_setattr_default_np(&huge), 0);
    EXPECT_THROW(std::thread{[] {}}, std::system_error);
    std::atomic<int> ran{0};
    for (int i = 0; i < 10; ++i) {
      rt.submit([](task_context&) {}).then([&](std::exception_ptr) { ++ran; });
      rt.wait_idle();
    }
    EXPECT_EQ(ran, 10);
  });
}

// requirement: in a child of fork(), a job of the parent's runtime is refused, and its destructor
// returns
TEST_F(ExecutorAlone, JobInAChildOfForkIsRefused) {
  FLOTILLA_NEED_DEVICES(1);
  std::mutex mutex;
  executor_job kept;
  std::atomic<int> ran{0};
  runtime rt{{.devices = device_spec(1),
              .workers = 0,
              .continuation_executor = std::make_shared<function_executor>(
                  [&](executor_job job) { kept = std::move(job); })}};
  rt.submit([](task_context&) {}).then([&](std::exception_ptr) { ++ran; });
  EXPECT_TRUE(pumping(rt, [&] { return static_cast<bool>(kept); }));
  EXPECT_EQ(forked([&] {
              try {
                kept();
                return 1;
              } catch (used_after_fork const&) {
                executor_job const empty{std::move(kept)};
                return ran == 0 ? 0 : 2;
              }
            }),
            0);
  EXPECT_EQ(forked([&] {
              kept = executor_job{};
              return ran == 0 ? 0 : 2;
            }),
            0);
  kept();
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace flotilla::test
