// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Stop requests to the senders of tasks.

#include <atomic>
#include <optional>
#include <thread>

#include <flotilla/adaptors/sender.hpp>
#include <flotilla/flotilla.hpp>

#include "adaptors/outcome.hpp"
#include "support/launch_gate.hpp"

namespace flotilla::test {
namespace {

class SenderStop : public guest_test, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    guest_test::SetUp();
    FLOTILLA_NEED_DEVICES(1);
    rt_.emplace(runtime_options{.devices = device_spec(1), .workers = GetParam()});
    kernels_.emplace(*rt_);
  }
  void TearDown() override {
    kernels_.reset();
    rt_.reset();
    guest_test::TearDown();
  }
  [[nodiscard]] runtime& rt() { return *rt_; }
  [[nodiscard]] test_program& kernels() { return *kernels_; }
  [[nodiscard]] recorder receiver() { return {result_, source_}; }
  [[nodiscard]] bool ends() {
    return pumping(rt(), [&] { return result_.ended(); });
  }
  outcome result_;
  stdexec::inplace_stop_source source_;

 private:
  std::optional<runtime> rt_;
  std::optional<test_program> kernels_;
};
INSTANTIATE_TEST_SUITE_P(workers, SenderStop, ::testing::Values(0, 2));

constexpr auto must_not_run = [](task_context&) { ADD_FAILURE() << "it ran"; };

// requirement: a stop request cancels a task that waits for a predecessor
TEST_P(SenderStop, RequestCancelsAWaitingTask) {
  launch_gate gate{rt(), kernels(), device_ordinal{0}};
  auto operation =
      stdexec::connect(submit_sender(rt(), must_not_run, {.after = {gate.gate()}}), receiver());
  stdexec::start(operation);
  for (int i = 0; i < 3; ++i) { rt().pump(); }
  EXPECT_FALSE(result_.ended());
  source_.request_stop();
  EXPECT_TRUE(ends()) << "although the predecessor still runs";
  EXPECT_EQ(result_.how(), ending::stopped);
  gate.open();
}

// requirement: a request before `start` cancels a submitted task, and a lazy sender submits nothing
TEST_P(SenderStop, RequestBeforeTheStart) {
  launch_gate gate{rt(), kernels(), device_ordinal{0}};
  outcome lazy;
  auto operation =
      stdexec::connect(as_sender(rt().submit(must_not_run, {.after = {gate.gate()}})), receiver());
  auto second = stdexec::connect(submit_sender(rt(), must_not_run, {.device = device_ordinal{9}}),
                                 recorder{lazy, source_});
  source_.request_stop();
  stdexec::start(second);
  EXPECT_EQ(lazy.how(), ending::stopped) << "a submit would have thrown unknown_device";
  stdexec::start(operation);
  EXPECT_TRUE(ends());
  EXPECT_EQ(result_.how(), ending::stopped);
  gate.open();
}

// requirement: a task whose launch has begun runs to its end
TEST_P(SenderStop, RunningTaskIsNotCancelled) {
  held_word word{rt()};
  auto operation = stdexec::connect(submit_sender(rt(), word.launch_of(kernels())), receiver());
  stdexec::start(operation);
  EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
  source_.request_stop();
  EXPECT_FALSE(result_.ended());
  word.release();
  EXPECT_TRUE(ends());
  EXPECT_EQ(result_.how(), ending::value);
}

// requirement: a request has no effect on a task that has ended
TEST_P(SenderStop, EndedTaskIsNotCancelled) {
  ticket task = rt().submit([](task_context&) {});
  task.wait();
  auto operation = stdexec::connect(as_sender(std::move(task)), receiver());
  source_.request_stop();
  stdexec::start(operation);
  EXPECT_TRUE(ends());
  EXPECT_EQ(result_.how(), ending::value);
}

// stress: requests race with submits, launches and ends. Each operation completes once, and a
// request uses no operation that was destroyed after its completion
TEST_P(SenderStop, RequestsRaceWithTheEnds) {
  std::atomic<int> ran{0};
  int values = 0;
  for (int i = 0; i < 300; ++i) {
    outcome result;
    stdexec::inplace_stop_source source;
    std::atomic<bool> go{false};
    std::thread stopper{[&] {
      while (!go.load()) { std::this_thread::yield(); }
      source.request_stop();
    }};
    {
      // Some tasks before it, so that a request finds it before, during and after its launch.
      for (int before = i % 16; before > 0; --before) {
        rt().post(kernels().nothing.with_shape({1}, {1})());
      }
      auto operation = stdexec::connect(submit_sender(rt(), [&](task_context&) { ++ran; }),
                                        recorder{result, source});
      if (i % 2 == 0) { go.store(true); }
      stdexec::start(operation);
      go.store(true);
      EXPECT_TRUE(pumping(rt(), [&] { return result.ended(); }));
    }
    stopper.join();
    EXPECT_NE(result.how(), ending::error);
    values += result.how() == ending::value ? 1 : 0;
  }
  EXPECT_EQ(ran, values) << "a stopped task did not run";
}

}  // namespace
}  // namespace flotilla::test
