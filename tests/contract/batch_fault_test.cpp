// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Driver calls that fail while launches are batched. Only the task of the refused call fails, and
// every other task runs once.

#include <algorithm>
#include <atomic>
#include <string>

#include <flotilla/testing/fault_injection.hpp>

#include "contract/batch_fixture.hpp"
#include "support/child.hpp"
#include "support/eventually.hpp"

namespace flotilla::test {
namespace {

class BatchFaults : public batch_test {};

// requirement: if the driver refuses to rewrite a template's node for a task, only the ticket of
// this task has the error. The task that used the node before does not run again
TEST_F(BatchFaults, FailedRewriteFailsOneTask) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{options()};
  program const loaded = rt.load(test_image());
  auto const count = loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  device_buffer<std::uint32_t> counters{rt, device_ordinal{0}, tasks};
  for (unsigned nth = 1; nth < tasks; nth += 7) {
    rt.submit(counters.fill(0)).wait();
    testing::fail_call("cuGraphExecKernelNodeSetParams", nth,
                       driver_status::launch_out_of_resources);
    std::vector<bool> const failed = run(rt, count, counters);
    testing::clear_faults();
    EXPECT_EQ(std::count(failed.begin(), failed.end(), true), 1) << "rewrite " << nth;
    std::vector<std::uint32_t> const ran = read(rt, counters);
    for (unsigned i = 0; i < tasks; ++i) {
      ASSERT_EQ(ran[i], failed[i] ? 0u : 1u) << "task " << i << ", rewrite " << nth;
    }
  }
}

// requirement: if the launch of a batch's graph fails, the tasks of the batch are launched one by
// one
TEST_F(BatchFaults, FailedGraphLaunchLosesAndRepeatsNothing) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{options()};
  program const loaded = rt.load(test_image());
  auto const count = loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  device_buffer<std::uint32_t> counters{rt, device_ordinal{0}, tasks};
  for (char const* const entry : {"cuGraphLaunch", "cuGraphExecBatchMemOpNodeSetParams"}) {
    for (unsigned nth = 1; nth < 8; ++nth) {
      rt.submit(counters.fill(0)).wait();
      testing::fail_call(entry, nth, driver_status::launch_out_of_resources);
      std::vector<bool> const failed = run(rt, count, counters);
      testing::clear_faults();
      EXPECT_EQ(std::count(failed.begin(), failed.end(), true), 0) << entry << " " << nth;
      EXPECT_EQ(read(rt, counters), std::vector<std::uint32_t>(tasks, 1)) << entry << " " << nth;
    }
  }
}

// requirement: the launch of a batch's graph fails, so the tasks of the batch are launched one by
// one. If one of these launches fails too, the ticket of its task has the error
TEST_F(BatchFaults, LaunchThatFailsTwiceFailsOneTask) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{options()};
  program const loaded = rt.load(test_image());
  auto const count = loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  device_buffer<std::uint32_t> counters{rt, device_ordinal{0}, tasks};
  rt.submit(counters.fill(0)).wait();
  grow_batches(rt, count, counters);
  rt.submit(counters.fill(0)).wait();
  testing::fail_call("cuGraphLaunch", 2, driver_status::launch_out_of_resources);
  testing::fail_call("cuLaunchKernel", 3, driver_status::launch_out_of_resources);
  std::vector<bool> const failed = run(rt, count, counters);
  testing::clear_faults();
  EXPECT_EQ(std::count(failed.begin(), failed.end(), true), 1);
  std::vector<std::uint32_t> const ran = read(rt, counters);
  for (unsigned i = 0; i < tasks; ++i) { ASSERT_EQ(ran[i], failed[i] ? 0u : 1u) << "task " << i; }
}

/// Waits for a chain of steps `value = value * 3 + index`. Checks that all steps before the first
/// failed step ran and that no later step ran.
/// @param value  The value before the chain. Receives the expected value after the chain.
/// @return whether a step failed.
bool one_step_failed(std::vector<ticket> const& chain, std::uint32_t& value) {
  bool broken = false;
  for (unsigned i = 0; i < chain.size(); ++i) {
    try {
      chain[i].wait();
      EXPECT_FALSE(broken) << "task " << i << " ran after a failed one";
      value = value * 3 + i;
    } catch (dependency_failed const&) {
      EXPECT_TRUE(broken) << "task " << i;
    } catch (driver_error const&) {
      EXPECT_FALSE(broken) << "task " << i;
      broken = true;
    }
  }
  return broken;
}

// regression: the launch of a template failed, and then the separate launch of one of its tasks
// failed too. Nevertheless, the next template ran the successors of that task
TEST_F(BatchFaults, SuccessorOfALaunchThatFailedTwiceDoesNotRun) {
  FLOTILLA_NEED_CPU_DRIVER();
  constexpr unsigned links = 45;  // fill two templates
  runtime rt{{.devices = "cpu:1", .workers = 0}};
  test_program const program{rt};
  device_buffer<std::uint32_t> value{rt, device_ordinal{0}, 1};
  auto const submit_chain = [&] {
    std::vector<ticket> chain;
    for (unsigned i = 0; i < links; ++i) {
      task_options how;
      if (!chain.empty()) { how.after.add(chain.back()); }
      chain.push_back(rt.submit(program.step.with_shape({1}, {1})(value, 3u, i), how));
    }
    return chain;
  };
  // Runs a chain whose first template is refused, and the separate launch number `nth` too. @return
  // whether a task of the chain failed.
  auto const fails = [&](unsigned nth) {
    // These chains let the batches grow to their full size.
    for (int i = 0; i < 5; ++i) { submit_chain().back().wait(); }
    rt.submit(value.fill(1)).wait();
    std::uint32_t expected = 1;
    testing::fail_call("cuGraphLaunch", 1, driver_status::launch_out_of_resources);
    testing::fail_call("cuLaunchKernel", nth, driver_status::launch_out_of_resources);
    std::vector<ticket> const chain = submit_chain();
    bool const failed = one_step_failed(chain, expected);
    testing::clear_faults();
    EXPECT_EQ(read(rt, value), std::vector<std::uint32_t>{expected}) << "launch " << nth;
    return failed;
  };
  for (unsigned const nth : {1u, 16u, 31u, 32u, 33u, 45u}) {
    bool failed = fails(nth);
    if (nth > 16) { continue; }
    // The first template holds at least 16 tasks of the chain. The launch of this template fails,
    // so these tasks are launched separately. If one of the first 16 separate launches fails, a
    // task of the chain must fail. On a busy machine the kernel may seem long, so that the template
    // holds fewer tasks: then try again.
    for (int attempt = 0; attempt < 50 && !failed; ++attempt) { failed = fails(nth); }
    EXPECT_TRUE(failed) << "launch " << nth;
  }
}

// requirement: a task does not run if its predecessor in the same batch was refused
TEST_F(BatchFaults, SuccessorOfARefusedTaskDoesNotRun) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{options()};
  test_program const program{rt};
  device_buffer<std::uint32_t> value{rt, device_ordinal{0}, 1};
  for (unsigned nth = 1; nth < 60; nth += 3) {
    rt.submit(value.fill(1)).wait();
    std::uint32_t expected = 1;
    std::vector<ticket> chain;
    testing::fail_call("cuGraphExecKernelNodeSetParams", nth,
                       driver_status::launch_out_of_resources);
    for (unsigned i = 0; i < 60; ++i) {
      task_options how;
      if (!chain.empty()) { how.after.add(chain.back()); }
      chain.push_back(rt.submit(program.step.with_shape({1}, {1})(value, 3u, i), how));
    }
    bool const broken = one_step_failed(chain, expected);
    testing::clear_faults();
    EXPECT_TRUE(broken) << "rewrite " << nth;
    EXPECT_EQ(read(rt, value)[0], expected) << "rewrite " << nth;
  }
}

// requirement: if a fault happens while batches are open, the tasks in these batches and their
// successors end, so no wait for these tasks hangs
TEST_F(BatchFaults, FaultEndsSuccessorsOfOpenBatches) {
  FLOTILLA_NEED_CPU_DRIVER();
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{options()};
    test_program const program{rt};
    host_buffer<std::uint32_t> words{rt, 2};
    words[0] = words[1] = 0;  // new memory may hold anything
    device_buffer<std::uint32_t> value{rt, device_ordinal{0}, 1};
    launch const nothing = program.nothing.with_shape({1}, {1})();
    // flotilla batches a kernel's launches only after it has measured the kernel's duration.
    for (int i = 0; i < 50; ++i) {
      for (int k = 0; k < 10; ++k) { static_cast<void>(rt.submit(nothing)); }
      rt.wait_idle();
    }
    // One pass takes all of the following tasks. It launches `first` and `second` alone, on two
    // lanes. `after_first` and `after_second` each open a batch on one of these two lanes. `faulty`
    // faults, and `last` is a successor of the tasks in both batches.
    testing::fail_call("cuGraphLaunch", 3, driver_status::illegal_address);
    launch const hold = program.hold.with_shape({1}, {1})(words.data());
    ticket const first = rt.submit(hold);
    ticket const second = rt.submit(hold);
    ticket const after_first = rt.submit(nothing, {.after = {first}});
    ticket const after_second = rt.submit(nothing, {.after = {second}});
    ticket const faulty = rt.submit(program.write.with_shape({1}, {1})(value, 1u));
    ticket const last = rt.submit(nothing, {.after = {after_first, after_second}});
    EXPECT_THROW(last.wait(), poisoned);
    EXPECT_THROW(faulty.wait(), poisoned);
    testing::clear_faults();
    std::atomic_ref{words[1]} = 1u;
  });
}

// requirement: if the launch of one part of a batch faults, tasks that follow other parts of the
// batch end as well
TEST_F(BatchFaults, FaultEndsTasksThatFollowTheRestOfTheBatch) {
  FLOTILLA_NEED_CPU_DRIVER();
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{options()};
    test_program const program{rt};
    launch const nothing = program.nothing.with_shape({1}, {1})();
    for (int i = 0; i < 50; ++i) {
      for (int k = 0; k < 100; ++k) { rt.post(nothing); }
      rt.wait_idle();
    }
    // The tasks need a graph of 32 nodes and another graph. The launch of the first faults. `alone`
    // makes the pass launch the batch of its predecessor, which is in the other graph.
    testing::fail_call("cuGraphLaunch", 1, driver_status::illegal_address);
    std::vector<ticket> open;
    for (int k = 0; k < 45; ++k) { open.push_back(rt.submit(nothing)); }
    ticket const alone = rt.submit(nothing, {.after = {open.back()}, .batch = false});
    EXPECT_THROW(alone.wait(), poisoned);
    for (ticket const& each : open) { EXPECT_TRUE(ended(each)); }
    testing::clear_faults();
  });
}

}  // namespace
}  // namespace flotilla::test
