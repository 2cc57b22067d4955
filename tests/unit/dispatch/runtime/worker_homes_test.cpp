// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Which worker drives which device, if the devices prefer NUMA nodes. The nodes are made by the
// test: node 0 has the first processor of this process, and node 1 has the last one.
#include "dispatch/runtime/worker_homes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "support/numa_tree.hpp"

namespace flotilla::dispatch {
namespace {

using test::mask_of;
using test::numa_tree;
using test::own_processors;

constexpr int none = worker_homes::none;

base::processor_mask mask_here() {
  return base::processor_mask::of_thread(0).value_or(base::processor_mask{});
}

class WorkerHomes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (processors_.size() < 2) { GTEST_SKIP() << "two nodes need at least 2 processors"; }
  }
  worker_homes homes(std::vector<int> const& nodes_of_devices) {
    busy_.assign(nodes_of_devices.size(), false);
    return {nodes_, nodes_of_devices, [this](unsigned device) { return busy_[device]; }};
  }
  /// Drains a device, as a worker does. @return whether the worker tried.
  bool drain(worker_home& home, unsigned device) {
    bool const tried = home.visit(device);
    home.come_back();
    return tried;
  }

  std::vector<std::size_t> const processors_ = own_processors();
  base::processor_mask const first_ = mask_of({processors_.front()});
  base::processor_mask const last_ = mask_of({processors_.back()});
  numa_tree const tree_{
      {std::to_string(processors_.front()), std::to_string(processors_.back()), "8000"}};
  base::numa_nodes const nodes_{tree_.root()};
  std::vector<char> busy_;
};

// requirement: devices on one node share a home. A device without a node, or with a node that has
// no processor of this process, has none.
TEST_F(WorkerHomes, DevicesOfOneNodeShareAHome) {
  worker_homes const all = homes({1, 0, -1, 1, 2, 77});
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.of_device(0), 0);
  EXPECT_EQ(all.of_device(1), 1);
  EXPECT_EQ(all.of_device(2), none);
  EXPECT_EQ(all.of_device(3), 0);
  EXPECT_EQ(all.of_device(4), none);
  EXPECT_EQ(all.of_device(5), none);
  EXPECT_EQ(all.processors(0), last_);
  EXPECT_EQ(all.processors(1), first_);
}

// requirement: with the setting off, every device has -1, and no worker is ever restricted
TEST_F(WorkerHomes, WithoutHomesWorkersDrainEverything) {
  worker_homes all = homes({-1, -1});
  EXPECT_TRUE(all.empty());
  base::processor_mask const before = mask_here();
  worker_home home{all};
  for (unsigned device = 0; device < 2; ++device) { EXPECT_TRUE(drain(home, device)); }
  EXPECT_EQ(mask_here(), before);
}

// requirement: a worker settles at its first device's node and leaves it when the worker ends
TEST_F(WorkerHomes, AWorkerSettlesAtItsFirstDevice) {
  worker_homes all = homes({0, 1});
  base::processor_mask const before = mask_here();
  for (unsigned device = 0; device < 2; ++device) {
    worker_home home{all};
    busy_[device] = true;
    EXPECT_TRUE(drain(home, device));
    EXPECT_EQ(mask_here(), device == 0 ? first_ : last_);
    EXPECT_TRUE(all.is_attended(static_cast<int>(device)));
  }
  EXPECT_EQ(mask_here(), before);
  EXPECT_FALSE(all.is_attended(0)) << "the worker has ended";
}

// requirement: a device without a home gives the worker no home
TEST_F(WorkerHomes, ADeviceWithoutAHomeRestrictsNoWorker) {
  worker_homes all = homes({-1, 1});
  base::processor_mask const before = mask_here();
  worker_home home{all};
  busy_ = {true, true};
  EXPECT_TRUE(drain(home, 0));
  EXPECT_EQ(mask_here(), before);
  EXPECT_TRUE(drain(home, 1));
  EXPECT_TRUE(drain(home, 0));
  EXPECT_EQ(mask_here(), last_) << "the worker stays where it is";
}

// requirement: a worker leaves a device to the workers of its node if there are enough of them
TEST_F(WorkerHomes, AWorkerLeavesDevicesToTheWorkersOfTheirNode) {
  worker_homes all = homes({0, 1, 1});
  worker_home here{all};
  busy_ = {true, true, false};
  EXPECT_TRUE(drain(here, 0));
  std::thread{[&] {
    worker_home there{all};
    EXPECT_TRUE(drain(there, 1));
    EXPECT_FALSE(drain(here, 1));
    busy_[2] = true;
    EXPECT_TRUE(drain(here, 2)) << "two busy devices, but one worker";
    busy_[2] = false;
    there.leave();
    EXPECT_TRUE(drain(here, 1)) << "the worker may be blocked";
    there.come_back();
    EXPECT_FALSE(drain(here, 1));
  }}.join();
  EXPECT_TRUE(drain(here, 1)) << "the worker has ended";
  EXPECT_EQ(mask_here(), first_) << "the worker has not moved";
}

// requirement: a worker does not count at its home while it drains a device elsewhere, because a
// callable can block it there
TEST_F(WorkerHomes, AWorkerElsewhereDoesNotCount) {
  worker_homes all = homes({0, 1, -1});
  busy_ = {true, true, true};
  worker_home home{all};
  EXPECT_TRUE(drain(home, 0));
  for (unsigned const elsewhere : {1u, 2u}) {
    EXPECT_TRUE(all.is_attended(0));
    ASSERT_TRUE(home.visit(elsewhere));
    EXPECT_FALSE(all.is_attended(0)) << elsewhere;
    home.come_back();
  }
  EXPECT_TRUE(all.is_attended(0));
}

// requirement: if the process may use few processors of a node, the other workers use those of
// other nodes
TEST_F(WorkerHomes, AHomeHasNoMoreWorkersThanProcessors) {
  worker_homes all = homes({0, 0});
  busy_ = {true, true};
  worker_home first{all};
  EXPECT_TRUE(drain(first, 0));
  base::start_thread([&] {  // a std::thread would inherit the mask of `first`
    base::processor_mask const before = mask_here();
    ASSERT_NE(before, first_);
    worker_home second{all};
    EXPECT_TRUE(drain(second, 1));
    EXPECT_EQ(mask_here(), before);
    first.leave();
    EXPECT_TRUE(drain(second, 1));
    EXPECT_EQ(mask_here(), first_);
    first.come_back();
  })
      .join();
}

// requirement: a worker moves if its own node does not need it, but not for a few tasks
TEST_F(WorkerHomes, AWorkerMovesToWhereTheWorkIs) {
  worker_homes all = homes({0, 1});
  worker_home home{all};
  busy_ = {true, true};
  EXPECT_TRUE(drain(home, 0));
  for (int i = 0; i < 1000; ++i) { EXPECT_TRUE(drain(home, 1)); }
  EXPECT_EQ(mask_here(), first_) << "the only worker of a busy device stays";
  busy_ = {false, true};
  EXPECT_TRUE(drain(home, 1));
  EXPECT_EQ(mask_here(), last_);
  EXPECT_TRUE(all.is_attended(1));
  busy_ = {true, false};
  EXPECT_TRUE(drain(home, 0));
  EXPECT_EQ(mask_here(), last_) << "a single task moves no worker";
}

}  // namespace
}  // namespace flotilla::dispatch
