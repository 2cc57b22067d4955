// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Device-updated templates: when they are created, and the records that describe their nodes to the
// device. A CPU device cannot update templates. So these tests use a driver table that applies the
// records before each launch, as the update kernel does on a GPU.

#include "dispatch/graph/device_updated_pool.hpp"

#include <array>
#include <atomic>
#include <vector>

#include "unit/dispatch/graph/updating_device.hpp"
#include "unit/dispatch/lane/lane_test.hpp"

namespace flotilla::dispatch {
namespace {

class DeviceUpdatedPool : public template_test {
 protected:
  DeviceUpdatedPool() : template_test{updating_device::over(api())} {
    add_ = function("add_to");
    updating_device::updater = function("update_nodes");
    pool_.use(updating_device::updater);
  }
  ~DeviceUpdatedPool() override {
    settle();
    pool_.destroy();
    memory_.destroy();
  }
  struct arguments {
    std::uint32_t* to;
    std::uint32_t amount;
    std::uint32_t unused = 0;
  };
  static launch_form form(std::uint32_t kernel, std::uint32_t width = 1) {
    return {{16, width, 16 / width}, kernel, {1, 1, 1}, 0};
  }
  /// The argument and the grid size with which node `i` is created.
  static std::uint32_t first_amount(std::uint32_t i) { return i + 1; }
  static std::uint32_t first_grid(std::uint32_t i) { return 1 + i % 2; }
  graph_template* take(launch_form const& of, bool idle = false, bool whole = true) {
    std::uint32_t* to = &sum_;
    std::uint32_t amount = 0;
    std::array<void*, 2> const arguments_of_it{&to, &amount};
    CUDA_KERNEL_NODE_PARAMS holds = node_of(add_, const_cast<void**>(arguments_of_it.data()));
    auto const first = [&](std::uint32_t i) -> auto& {
      amount = first_amount(i);
      holds.gridDimX = first_grid(i);
      return holds;
    };
    return pool_.take({.form = of,
                       .argument_bytes = sizeof(arguments),
                       .counter = lane_.counter(),
                       .completion = nullptr,
                       .stream = lane_.stream(),
                       .full = whole,
                       .device_idle = idle},
                      first);
  }
  /// Calls `take` until it returns a template, but at most `creation_cost_rewrites` times. @return
  /// the template, or null if no call returned one.
  graph_template* take_in_the_end(launch_form const& of, bool idle = false) {
    for (std::uint32_t batches = 0; batches < device_updated_pool::creation_cost_rewrites;
         ++batches) {
      if (graph_template* const got = take(of, idle)) { return got; }
    }
    return nullptr;
  }
  void put(graph_template& into, std::uint32_t node, std::uint32_t amount, std::uint32_t grid = 1) {
    arguments const made{&sum_, amount};
    into.put(node, {grid, 1, 1}, reinterpret_cast<std::byte const*>(&made));
  }
  CUresult launch(graph_template& what) {
    CUresult const answer = what.launch(lane_.stream(), lane_.counter(), number_ + 1);
    if (answer != CUDA_SUCCESS) { return answer; }
    ++number_;
    EXPECT_TRUE(reaches(number_));
    return answer;
  }
  /// Launches the batch for which the template was created. This must be the first launch of the
  /// template.
  void launch_first(graph_template& what) {
    std::uint32_t expected = 0;
    for (std::uint32_t i = 0; i < what.dimensions().size; ++i) {
      put(what, i, first_amount(i), first_grid(i));
      expected += first_amount(i) * first_grid(i);
    }
    EXPECT_EQ(launch(what), CUDA_SUCCESS);
    EXPECT_EQ(take_sum(), expected);
  }
  [[nodiscard]] std::uint32_t take_sum() { return std::atomic_ref{sum_}.exchange(0); }

  registered_slabs memory_{context_};
  device_updated_pool pool_{context_, memory_};

 private:
  CUfunction add_ = nullptr;
  std::uint64_t number_ = 0;
  std::uint32_t sum_ = 0;
};

// requirement: a launch runs exactly the tasks that were put into the template, with their
// arguments and grids. A disabled node runs nothing.
TEST_F(DeviceUpdatedPool, RunWhatWasPut) {
  graph_template* const made = take_in_the_end(form(0, 2));
  ASSERT_NE(made, nullptr);
  ASSERT_TRUE(made->is_device_updated());
  for (std::uint32_t round = 0; round < 50; ++round) {
    std::uint32_t expected = 0;
    for (std::uint32_t i = 0; i < 16; ++i) {
      if ((round + i) % 3 == 0) {
        EXPECT_EQ(made->disable(i), CUDA_SUCCESS);
        continue;
      }
      std::uint32_t const grid = 1 + (round / 2 + i) % 2;
      put(*made, i, round * 16 + i, grid);
      expected += grid * (round * 16 + i);
    }
    ASSERT_EQ(launch(*made), CUDA_SUCCESS);
    ASSERT_EQ(take_sum(), expected) << round;
  }
}

// requirement: the records of each launch describe every node. So no change of an earlier launch
// remains.
TEST_F(DeviceUpdatedPool, DescribeEveryNodeInEveryLaunch) {
  updating_device::forget = true;
  graph_template* const made = take_in_the_end(form(0, 2));
  ASSERT_NE(made, nullptr);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < 8; ++i) { put(*made, i, 1, 2); }
    for (std::uint32_t i = 8; i < 16; ++i) { EXPECT_EQ(made->disable(i), CUDA_SUCCESS); }
    ASSERT_EQ(launch(*made), CUDA_SUCCESS);
    EXPECT_EQ(take_sum(), 16u) << round;
  }
}

// requirement: if a launch is refused, its records do not count as applied
TEST_F(DeviceUpdatedPool, ForgetWhatARefusedLaunchHad) {
  graph_template* const made = take_in_the_end(form(0));
  ASSERT_NE(made, nullptr);
  for (std::uint32_t i = 0; i < 16; ++i) { put(*made, i, 1, 1); }
  ASSERT_EQ(launch(*made), CUDA_SUCCESS);
  ASSERT_EQ(take_sum(), 16u);
  for (std::uint32_t i = 0; i < 16; ++i) {
    if (i % 2 == 0) {
      EXPECT_EQ(made->disable(i), CUDA_SUCCESS);
    } else {
      put(*made, i, 1, 3);
    }
  }
  updating_device::refuse_launches = 1;
  ASSERT_NE(launch(*made), CUDA_SUCCESS);
  for (std::uint32_t i = 0; i < 16; ++i) {
    if (i % 2 == 0) {
      EXPECT_EQ(made->disable(i), CUDA_SUCCESS);
    } else {
      put(*made, i, 1, 3);
    }
  }
  ASSERT_EQ(launch(*made), CUDA_SUCCESS);
  EXPECT_EQ(take_sum(), 8u * 3);
}

// requirement: the pool creates the first template after `creation_cost_rewrites` rewritten
// batches, and the second after half as many more. A template is reused for batches of its launch
// form.
TEST_F(DeviceUpdatedPool, AreCreatedForTheirCost) {
  for (std::uint32_t batch = 1; batch < device_updated_pool::creation_cost_rewrites; ++batch) {
    ASSERT_EQ(take(form(0)), nullptr) << batch;
  }
  graph_template* const first = take(form(0));
  ASSERT_NE(first, nullptr);
  for (std::uint32_t batch = 1; batch < device_updated_pool::creation_cost_rewrites / 2; ++batch) {
    ASSERT_EQ(take(form(0)), nullptr)
        << "the second template was created too early, after batch " << batch;
  }
  EXPECT_NE(take(form(0)), nullptr);
  EXPECT_EQ(take(form(1)), nullptr) << "a different kernel is a different form";
  launch_first(*first);
  pool_.give_back(*first);
  EXPECT_EQ(take(form(0)), first);
  EXPECT_EQ(pool_.chains(), 2u);
}

// requirement: the nodes are created with the tasks of the first launch, so this launch is correct
// even if the update is lost. Later launches can disable nodes.
TEST_F(DeviceUpdatedPool, HoldTheirFirstBatchFromTheBeginning) {
  updating_device::lose_first = true;
  for (std::uint32_t batch = 0; batch < 2 * device_updated_pool::creation_cost_rewrites; ++batch) {
    ASSERT_EQ(take(form(0), false, false), nullptr);
  }
  graph_template* const made = take(form(0));
  ASSERT_NE(made, nullptr) << "enough batches were rewritten before";
  launch_first(*made);
  pool_.give_back(*made);
  ASSERT_EQ(take(form(0), false, false), made);
  for (std::uint32_t i = 0; i < 15; ++i) { EXPECT_EQ(made->disable(i), CUDA_SUCCESS); }
  put(*made, 15, 7, 3);
  ASSERT_EQ(launch(*made), CUDA_SUCCESS);
  EXPECT_EQ(take_sum(), 7u * 3);
}

// requirement: a template whose first launch was refused is not used again
TEST_F(DeviceUpdatedPool, AreNotUsedAgainIfTheFirstLaunchIsRefused) {
  graph_template* const refused = take_in_the_end(form(0));
  ASSERT_NE(refused, nullptr);
  updating_device::refuse_launches = 1;
  ASSERT_NE(launch(*refused), CUDA_SUCCESS);
  pool_.note_refusal(*refused);
  pool_.give_back(*refused);
  graph_template* const other = take_in_the_end(form(0));
  ASSERT_NE(other, nullptr);
  EXPECT_NE(other, refused);
}

// requirement: the total number of chains is bounded. If the bound is reached and the device is
// idle, a new template replaces the least recently used one.
TEST_F(DeviceUpdatedPool, AreBounded) {
  std::vector<graph_template*> made;
  for (std::uint32_t kernel = 0; pool_.chains() < device_updated_pool::max_chains; ++kernel) {
    made.push_back(take_in_the_end(form(kernel, 4)));
    ASSERT_NE(made.back(), nullptr);
  }
  EXPECT_EQ(take_in_the_end(form(1000, 4), true), nullptr) << "all templates are in use";
  for (graph_template* const each : made) {
    launch_first(*each);
    pool_.give_back(*each);
  }
  EXPECT_EQ(take(form(0, 4)), made[0]);
  pool_.give_back(*made[0]);
  EXPECT_EQ(take_in_the_end(form(1000, 4)), nullptr) << "the device is not idle";
  EXPECT_NE(take_in_the_end(form(1000, 4), true), nullptr);
  EXPECT_EQ(pool_.chains(), device_updated_pool::max_chains);
  EXPECT_EQ(take(form(0, 4)), made[0]) << "the template that was used last stays";
  EXPECT_EQ(take(form(1, 4)), nullptr) << "the least recently used template is destroyed";
}

// requirement: if the driver refuses to create a template of a launch form, the pool does not try
// this form again
TEST_F(DeviceUpdatedPool, AreNotTriedAgain) {
  updating_device::refuse_attributes = 1000;
  EXPECT_EQ(take_in_the_end(form(0)), nullptr);
  EXPECT_EQ(updating_device::attributes_asked, 1);
  EXPECT_EQ(take_in_the_end(form(0)), nullptr);
  EXPECT_EQ(updating_device::attributes_asked, 1);
  updating_device::refuse_attributes = 0;
  EXPECT_NE(take_in_the_end(form(1)), nullptr);
}

// requirement: if the driver refuses too many launches of templates of one form, the pool creates
// no more templates of this form
TEST_F(DeviceUpdatedPool, AreGivenUpIfTheyAreNotLaunched) {
  for (std::uint32_t i = 0; i < device_updated_pool::max_refusals; ++i) {
    graph_template* const made = take_in_the_end(form(0));
    ASSERT_NE(made, nullptr) << i;
    pool_.note_refusal(*made);
    pool_.give_back(*made);
  }
  EXPECT_EQ(take_in_the_end(form(0)), nullptr);
}

// requirement: without the update kernel, the pool is not usable
TEST_F(DeviceUpdatedPool, NeedADriverThatHasThem) {
  EXPECT_TRUE(pool_.usable());
  device_updated_pool none{context_, memory_};
  none.use(nullptr);
  EXPECT_FALSE(none.usable());
}

}  // namespace
}  // namespace flotilla::dispatch
