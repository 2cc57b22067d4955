// Templates that the device updates: what is written down for it, and when one is made. There is no such device here: a
// driver table carries over what was written down as it launches, as the kernel does on a GPU.

#include "dispatch/updated_templates.hpp"

#include <array>
#include <atomic>
#include <vector>

#include "unit/dispatch/lane_test.hpp"
#include "unit/dispatch/updating_device.hpp"

namespace flotilla::dispatch {
namespace {

class UpdatedTemplates : public template_test {
 protected:
  UpdatedTemplates() : template_test{updating_device::over(api())} {
    add_ = function("add_to");
    updating_device::updater = function("update_nodes");
    pool_.use(updating_device::updater);
  }
  ~UpdatedTemplates() override {
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
  /// What nodes are made with.
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
    return pool_.take(of, first, sizeof(arguments), lane_.counter(), nullptr, lane_.stream(), whole, idle);
  }
  /// After what is rewritten for want of one.
  graph_template* take_in_the_end(launch_form const& of, bool idle = false) {
    for (std::uint32_t batches = 0; batches < updated_templates::price; ++batches) {
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
  /// Its first launch is behind it, as it always is of one that is given back.
  void launch_first(graph_template& what) {
    std::uint32_t expected = 0;
    for (std::uint32_t i = 0; i < what.size(); ++i) {
      put(what, i, first_amount(i), first_grid(i));
      expected += first_amount(i) * first_grid(i);
    }
    EXPECT_EQ(launch(what), CUDA_SUCCESS);
    EXPECT_EQ(take_sum(), expected);
  }
  [[nodiscard]] std::uint32_t take_sum() { return std::atomic_ref{sum_}.exchange(0); }

  mapped_slabs memory_{context_};
  updated_templates pool_{context_, memory_};

 private:
  CUfunction add_ = nullptr;
  std::uint64_t number_ = 0;
  std::uint32_t sum_ = 0;
};

// requirement: every launch runs what was put in for it, with its own arguments and its own grid; a disabled node nothing
TEST_F(UpdatedTemplates, RunWhatWasPutIn) {
  graph_template* const made = take_in_the_end(form(0, 2));
  ASSERT_NE(made, nullptr);
  ASSERT_TRUE(made->updated());
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

// requirement: a launch hangs on nothing that one before left in the nodes
TEST_F(UpdatedTemplates, AreToldAllInEveryLaunch) {
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

// requirement: what a refused launch did not carry over is not taken for carried over
TEST_F(UpdatedTemplates, ForgetWhatARefusedLaunchHad) {
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

// requirement: one is made when as much was rewritten as it costs, the next sooner, and each is used again by its form
TEST_F(UpdatedTemplates, AreMadeForTheirPrice) {
  for (std::uint32_t batch = 1; batch < updated_templates::price; ++batch) { ASSERT_EQ(take(form(0)), nullptr) << batch; }
  graph_template* const first = take(form(0));
  ASSERT_NE(first, nullptr);
  for (std::uint32_t batch = 1; batch < updated_templates::price / 2; ++batch) {
    ASSERT_EQ(take(form(0)), nullptr) << "the next has its price, too: " << batch;
  }
  EXPECT_NE(take(form(0)), nullptr);
  EXPECT_EQ(take(form(1)), nullptr) << "another kernel is another form";
  launch_first(*first);
  pool_.give_back(*first);
  EXPECT_EQ(take(form(0)), first);
  EXPECT_EQ(pool_.chains(), 2u);
}

// requirement: a first launch runs what its nodes were made with, even where nothing is carried over in it; later ones may disable
TEST_F(UpdatedTemplates, HoldTheirFirstBatchFromTheBeginning) {
  updating_device::lose_first = true;
  for (std::uint32_t batch = 0; batch < 2 * updated_templates::price; ++batch) { ASSERT_EQ(take(form(0), false, false), nullptr); }
  graph_template* const made = take(form(0));
  ASSERT_NE(made, nullptr) << "its price is paid";
  launch_first(*made);
  pool_.give_back(*made);
  ASSERT_EQ(take(form(0), false, false), made);
  for (std::uint32_t i = 0; i < 15; ++i) { EXPECT_EQ(made->disable(i), CUDA_SUCCESS); }
  put(*made, 15, 7, 3);
  ASSERT_EQ(launch(*made), CUDA_SUCCESS);
  EXPECT_EQ(take_sum(), 7u * 3);
}

// requirement: one that was never launched is no other batch's: that would be its first
TEST_F(UpdatedTemplates, AreNotUsedAgainWhereTheFirstLaunchIsRefused) {
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

// requirement: they are bounded, and one is given up only by a device that has nothing to do
TEST_F(UpdatedTemplates, AreBounded) {
  std::vector<graph_template*> made;
  for (std::uint32_t kernel = 0; pool_.chains() < updated_templates::most_chains; ++kernel) {
    made.push_back(take_in_the_end(form(kernel, 4)));
    ASSERT_NE(made.back(), nullptr);
  }
  EXPECT_EQ(take_in_the_end(form(1000, 4), true), nullptr) << "all are in use";
  for (graph_template* const each : made) {
    launch_first(*each);
    pool_.give_back(*each);
  }
  EXPECT_EQ(take(form(0, 4)), made[0]);
  pool_.give_back(*made[0]);
  EXPECT_EQ(take_in_the_end(form(1000, 4)), nullptr) << "the device is at work";
  EXPECT_NE(take_in_the_end(form(1000, 4), true), nullptr);
  EXPECT_EQ(pool_.chains(), updated_templates::most_chains);
  EXPECT_EQ(take(form(0, 4)), made[0]) << "it was used last";
  EXPECT_EQ(take(form(1, 4)), nullptr) << "it was not used for longest";
}

// requirement: where the driver cannot have one it is asked once for each form, and nothing is lost
TEST_F(UpdatedTemplates, AreNotTriedAgain) {
  updating_device::refuse_attributes = 1000;
  EXPECT_EQ(take_in_the_end(form(0)), nullptr);
  EXPECT_EQ(updating_device::attributes_asked, 1);
  EXPECT_EQ(take_in_the_end(form(0)), nullptr);
  EXPECT_EQ(updating_device::attributes_asked, 1);
  updating_device::refuse_attributes = 0;
  EXPECT_NE(take_in_the_end(form(1)), nullptr);
}

// requirement: nor for ever where the driver makes one and launches none
TEST_F(UpdatedTemplates, AreLeftWhereTheyAreNotLaunched) {
  for (std::uint32_t i = 0; i < updated_templates::most_refusals; ++i) {
    graph_template* const made = take_in_the_end(form(0));
    ASSERT_NE(made, nullptr) << i;
    pool_.note_refusal(*made);
    pool_.give_back(*made);
  }
  EXPECT_EQ(take_in_the_end(form(0)), nullptr);
}

// requirement: a driver without what they need has none
TEST_F(UpdatedTemplates, NeedADriverThatHasThem) {
  EXPECT_TRUE(pool_.usable());
  updated_templates none{context_, memory_};
  none.use(nullptr);
  EXPECT_FALSE(none.usable());
}

}  // namespace
}  // namespace flotilla::dispatch
