// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Runtimes whose CPU devices have NUMA nodes. The test makes the nodes: node 0 has the first
// processor of this process, and node 1 has the last one. The processors are real, so the affinity
// masks are real too. These tests cannot show that memory is on another node, or what that costs.
#include <flotilla/flotilla.hpp>

#include <gmock/gmock.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/inside.hpp"
#include "support/numa_tree.hpp"
#include "support/tbb_threads.hpp"

namespace flotilla::test {
namespace {

using base::processor_mask;
using ::testing::HasSubstr;

processor_mask mask_here() { return processor_mask::of_thread(0).value_or(processor_mask{}); }

class NumaPlacement : public guest_test {
 protected:
  void SetUp() override {
    guest_test::SetUp();
    if (processors_.size() < 2) { GTEST_SKIP() << "two nodes need at least 2 processors"; }
  }
  /// Makes a runtime whose device i is on the node `nodes[i]`.
  runtime make(std::vector<int> const& nodes, settings const& asked = {}, int workers = 2) const {
    return make_runtime({.devices = "cpu:" + std::to_string(nodes.size()),
                         .workers = workers,
                         .linger = std::chrono::microseconds{0},
                         .settings = asked},
                        {.numa_root = tree_.root().string(), .numa_nodes = nodes});
  }
  /// Runs a callable on the device, on a worker. @return the worker's mask.
  static processor_mask mask_of_worker(runtime& rt, unsigned device) {
    std::atomic<bool> ended{false};
    processor_mask seen;
    rt.post(
        [&](task_context&) {
          seen = mask_here();
          ended = true;
        },
        {.device = device_ordinal{device}});
    EXPECT_TRUE(eventually([&] { return ended.load(); }));  // without helping
    return seen;
  }
  static setting_outcome outcome(runtime const& rt, unsigned device) {
    for (setting_outcome const& each : rt.report_settings(device_ordinal{device}).outcomes) {
      if (each.name == "numa_placement") { return each; }
    }
    ADD_FAILURE() << "the report has no numa_placement";
    return {};
  }

  parallelism threads_{4};
  std::vector<std::size_t> const processors_ = own_processors();
  processor_mask const first_ = mask_of({processors_.front()});
  processor_mask const last_ = mask_of({processors_.back()});
  processor_mask const all_ = mask_of(processors_);
  numa_tree const tree_{{std::to_string(processors_.front()), std::to_string(processors_.back())}};
};

// requirement. A worker may drain a device of another node once, so look at several callables.
TEST_F(NumaPlacement, WorkersRunOnTheNodeOfTheirDevice) {
  runtime rt = make({0, 1});
  EXPECT_TRUE(eventually([&] { return mask_of_worker(rt, 0) == first_; }));
  EXPECT_TRUE(eventually([&] { return mask_of_worker(rt, 1) == last_; }));
  EXPECT_EQ(mask_here(), all_);
  EXPECT_EQ(outcome(rt, 1).granted, "true");
  EXPECT_EQ(outcome(rt, 1).note, "");
  EXPECT_EQ(rt.effective_settings(device_ordinal{1}).numa_placement, true);
}

// requirement: no worker is restricted for a device without a node
TEST_F(NumaPlacement, ADeviceWithoutANodeRestrictsNoWorker) {
  runtime rt = make({-1, 5});
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(mask_of_worker(rt, 0), all_);
    EXPECT_EQ(mask_of_worker(rt, 1), all_);
  }
  EXPECT_THAT(outcome(rt, 0).note, HasSubstr("unknown"));
  EXPECT_THAT(outcome(rt, 1).note, HasSubstr("NUMA node 5"));
  EXPECT_EQ(outcome(rt, 0).granted, "false");
}

// requirement
TEST_F(NumaPlacement, TheSettingTurnsItOff) {
  runtime rt = make({0, 1}, settings::parse("numa_placement=false"));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(mask_of_worker(rt, 0), all_);
    EXPECT_EQ(mask_of_worker(rt, 1), all_);
  }
  setting_outcome const off = outcome(rt, 1);
  EXPECT_EQ(off.kind, setting_outcome::kinds::granted);
  EXPECT_EQ(off.granted, "false");
  EXPECT_EQ(off.note, "");
}

// requirement: the setting can differ between devices
TEST_F(NumaPlacement, TheSettingOfOneDeviceIsItsOwn) {
  runtime rt = make({1, 1}, settings::parse("0:numa_placement=false"));
  EXPECT_TRUE(eventually([&] { return mask_of_worker(rt, 1) == last_; }));
  EXPECT_EQ(rt.effective_settings(device_ordinal{0}).numa_placement, false);
  EXPECT_EQ(rt.effective_settings(device_ordinal{1}).numa_placement, true);
}

// requirement: a thread of the application is not moved while it waits, helps or pumps
TEST_F(NumaPlacement, ThreadsOfTheApplicationAreNotMoved) {
  runtime rt = make({0, 1}, {}, 0);
  for (unsigned i = 0; i < 20; ++i) {
    processor_mask seen;
    ticket const one =
        rt.submit([&](task_context&) { seen = mask_here(); }, {.device = device_ordinal{i % 2}});
    if (i < 10) {
      one.wait();
    } else {
      EXPECT_TRUE(pumping(rt, [&] { return one.ready(); }));
    }
    EXPECT_EQ(seen, all_);
    EXPECT_EQ(mask_here(), all_);
  }
}

// requirement: continuations run on threads that are not restricted, although workers start these
// threads
TEST_F(NumaPlacement, ContinuationsAreNotRestricted) {
  runtime rt = make({1});
  processor_mask seen;
  std::atomic<bool> ended{false};
  ticket const one = rt.submit([](task_context&) {});
  one.then([&](std::exception_ptr) {
    seen = mask_here();
    ended = true;
  });
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
  EXPECT_EQ(seen, all_);
}

// requirement: while callables block the workers of one node, all devices make progress
TEST_F(NumaPlacement, ABlockedWorkerStallsNoOtherDevice) {
  runtime rt = make({0, 1, 1, -1});
  latch release;
  rt.post([&](task_context&) { release.wait(); }, {.device = device_ordinal{1}});
  rt.post([&](task_context&) { release.wait(); }, {.device = device_ordinal{3}});
  std::atomic<int> ran{0};
  for (int round = 1; round <= 20; ++round) {
    for (unsigned const device : {0u, 2u}) {
      rt.post([&](task_context&) { ++ran; }, {.device = device_ordinal{device}});
    }
    if (!eventually([&] { return ran == 2 * round; })) {
      ADD_FAILURE() << "round " << round;
      break;
    }
  }
  release.open();
}

// stress: workers find every task, wherever they are. No thread waits for the tasks.
TEST_F(NumaPlacement, NoTaskIsStranded) {
  for (int const workers : {1, 2, 3}) {
    constexpr int submitters = 2;
    constexpr int rounds = 500;
    std::array<std::atomic<int>, submitters> ran{};
    std::atomic<int> stranded{0};
    runtime rt = make({0, 1, -1, 0}, {}, workers);
    std::vector<std::thread> all;
    for (unsigned thread = 0; thread < submitters; ++thread) {
      all.emplace_back([&, thread] {
        std::atomic<int>& own = ran[thread];
        for (int i = 1; i <= rounds && stranded == 0; ++i) {
          task_options where;
          if (i % 5 != 0) {
            where.device = device_ordinal{(static_cast<unsigned>(i) + thread) % 4};
          }
          rt.post([&own](task_context&) { ++own; }, where);
          if (i % 3 == 0 && !eventually([&] { return own == i; })) { ++stranded; }
        }
        if (!eventually([&] { return own >= rounds || stranded != 0; })) { ++stranded; }
      });
    }
    for (std::thread& each : all) { each.join(); }
    EXPECT_EQ(stranded, 0) << workers << " workers";
    rt.wait_idle();
  }
}

// requirement: pinned memory of a device with a node is allocated under the node's policy, which
// does not outlive the allocation. Node 0 exists on every machine.
TEST_F(NumaPlacement, StartingARuntimeLeavesTheMemoryPolicy) {
  runtime rt = make({0, 1});
  EXPECT_EQ(inside(rt).devices[0].context().host_node(), 0);
  EXPECT_EQ(inside(rt).devices[1].context().host_node(), 1);
  std::vector<int> data(1 << 18, 7);
  device_buffer<int> buffer{rt, device_ordinal{0}, data.size()};
  rt.submit(buffer.copy_from(data)).wait();
  int mode = -1;
  EXPECT_EQ(::syscall(SYS_get_mempolicy, &mode, nullptr, 0ul, nullptr, 0ul), 0);
  EXPECT_EQ(mode, MPOL_DEFAULT);
}

}  // namespace
}  // namespace flotilla::test
