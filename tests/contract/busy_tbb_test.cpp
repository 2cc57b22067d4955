// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Work that nobody waits for, in applications that leave oneTBB no thread for workers.

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "support/child.hpp"
#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

// The tests only ask whether something has happened. They call no function that waits or pumps,
// because a waiting thread would drive the devices.
class BusyTbb : public contract_test {
 protected:
  void SetUp() override {
    if (GetParam().workers == 0) { GTEST_SKIP() << "needs workers"; }
    contract_test::SetUp();
  }
};
FLOTILLA_CONTRACT(BusyTbb);

// regression: a task and its continuation did not begin while the application occupied all threads
// of oneTBB
TEST_P(BusyTbb, TaskAndContinuationEnd) {
  device_word word{rt(), last()};
  for (std::uint32_t i = 1; i <= 3; ++i) {
    std::atomic<bool> continued{false};
    ticket const task = rt().submit(program().add.with_shape({1}, {1})(word.buffer(), 1u));
    task.then([&](std::exception_ptr) { continued = true; });
    ASSERT_TRUE(eventually([&] { return task.ready() && continued; })) << "task " << i;
  }
  EXPECT_EQ(word.read(), 3u);
}

// requirement: the same for each kind of work, on every device, and if one task needs another one
TEST_P(BusyTbb, EveryKindOfWorkEnds) {
  std::vector<device_word> words;
  for (device_ordinal const each : ordinals()) { words.emplace_back(rt(), each); }
  std::vector<std::uint32_t> seen(words.size());
  ticket before;
  for (std::size_t i = 0; i < words.size(); ++i) {
    dependency_list const after = i == 0 ? dependency_list{} : dependency_list{before};
    ticket const add =
        rt().submit(program().add.with_shape({1}, {1})(words[i].buffer(), 5u), {.after = after});
    ticket const copy =
        rt().submit(words[i].buffer().copy_to(std::span{&seen[i], 1}), {.after = {add}});
    before = rt().submit(host_task([] {}), {.after = {copy}});
  }
  std::atomic<int> ran{0};
  rt().post([&](task_context&) { ++ran; }, {.after = {before}});
  EXPECT_TRUE(eventually([&] { return ran == 1; }));
  EXPECT_EQ(seen, std::vector<std::uint32_t>(words.size(), 5));
}

// requirement: a callable that blocks delays no other device, although oneTBB has no thread
TEST_P(BusyTbb, CallableThatBlocksDelaysNoOtherDevice) {
  if (device_count() < 2) { GTEST_SKIP() << "needs two devices"; }
  runtime_options quiet = options();
  quiet.report_calls_longer_than = std::chrono::milliseconds{0};
  start(std::move(quiet));
  latch release;
  open_on_exit const at_end{release};
  std::atomic<bool> blocks{false}, ran{false};
  rt().post(
      [&](task_context&) {
        blocks = true;
        release.wait();
      },
      {.device = first()});
  ASSERT_TRUE(eventually([&] { return blocks.load(); }));
  rt().post([&](task_context&) { ran = true; }, {.device = last()});
  EXPECT_TRUE(eventually([&] { return ran.load(); }));
  release.open();
  rt().wait_idle();
}

class BusyTbbAlone : public guest_test {};

// requirement: the same on one processor
TEST_F(BusyTbbAlone, WorkEndsOnOneProcessor) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    tbb_hog const hog{1};
    runtime rt{{.devices = device_spec(1)}};
    std::atomic<int> ran{0};
    for (int i = 1; i <= 3; ++i) {
      rt.post([&](task_context&) { ++ran; });
      ASSERT_TRUE(eventually([&] { return ran == i; }));
    }
  });
}

}  // namespace
}  // namespace flotilla::test
