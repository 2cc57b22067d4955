// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Graph templates on a CPU device, without a runtime: rows (the nodes at one depth), and completion
// nodes between rows.

#include "dispatch/graph/template_pool.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "unit/dispatch/lane/lane_test.hpp"

namespace flotilla::dispatch {
namespace {

enum class own { none, completion, completion_and_entry };

/// With `own::none`, completion nodes are the driver's write operations. Otherwise they are
/// kernels. With `own::completion_and_entry`, templates with several chains also have an entry
/// node.
class GraphTemplate : public template_test, public ::testing::WithParamInterface<own> {
 protected:
  GraphTemplate() {
    add_ = function("add_to");
    hold_ = function("hold_until");
    completion_ = GetParam() != own::none ? function("write_number") : nullptr;
    pool_.use(GetParam() == own::completion_and_entry ? function("nothing") : nullptr,
              function("await_number"));
  }
  ~GraphTemplate() override {
    go_on();
    settle();
    pool_.destroy();
  }

  /// `adding` describes a node that adds to a sum. `holding` describes a node that runs until the
  /// test calls `go_on`.
  CUDA_KERNEL_NODE_PARAMS const& adding(std::uint32_t amount) {
    amount_ = amount;
    return node(add_, add_arguments_.data());
  }
  CUDA_KERNEL_NODE_PARAMS const& holding() { return node(hold_, hold_arguments_.data()); }
  void go_on() { std::atomic_ref{words_[1]}.store(1, std::memory_order_release); }
  [[nodiscard]] std::uint32_t sum() {
    return std::atomic_ref{sum_}.load(std::memory_order_acquire);
  }
  graph_template& take(std::uint32_t size, std::uint32_t width, std::uint32_t run) {
    return pool_.take({.shape = {size, width, run}, .completion = completion_}, adding(0),
                      lane_.counter());
  }
  /// Takes a template that begins with a device-side wait.
  graph_template& take_waiting(std::uint32_t size, std::uint32_t chains, std::uint32_t rows) {
    return pool_.take(
        {.shape = {size, chains, rows}, .completion = completion_, .waits_on_device = true},
        adding(0), lane_.counter());
  }

  template_pool pool_{context_};
  CUfunction completion_ = nullptr;

 private:
  CUDA_KERNEL_NODE_PARAMS const& node(CUfunction what, void** arguments) {
    node_ = node_of(what, arguments);
    return node_;
  }
  CUfunction add_ = nullptr;
  CUfunction hold_ = nullptr;
  std::uint32_t sum_ = 0;
  std::uint32_t amount_ = 0;
  std::array<std::uint32_t, 2> words_{};
  std::uint32_t* sum_address_ = &sum_;
  std::uint32_t* words_address_ = words_.data();
  std::array<void*, 2> add_arguments_{&sum_address_, &amount_};
  std::array<void*, 1> hold_arguments_{&words_address_};
  CUDA_KERNEL_NODE_PARAMS node_{};
};

// requirement: the end of the rows before a completion node is visible while later rows still run
TEST_P(GraphTemplate, WritesANumberAfterEveryFewRows) {
  graph_template& four_rows = take(8, 2, 2);
  ASSERT_EQ(four_rows.completions(), 2u);
  EXPECT_EQ(four_rows.completion_of(3), 0u);
  EXPECT_EQ(four_rows.completion_of(4), 1u);
  for (std::uint32_t i = 0; i < 8; ++i) {
    ASSERT_EQ(four_rows.set(i, i == 4 ? holding() : adding(i < 4 ? 1 : 100)), CUDA_SUCCESS);
  }
  ASSERT_EQ(four_rows.launch(lane_.stream(), lane_.counter(), 7), CUDA_SUCCESS);
  ASSERT_TRUE(reaches(7));
  EXPECT_EQ(sum() % 100, 4u);
  EXPECT_EQ(page_.number(1), 7u);
  go_on();
  ASSERT_TRUE(reaches(8));
  EXPECT_EQ(sum(), 304u);
}

// requirement: a template with at most rows_per_completion rows has one completion node
TEST_P(GraphTemplate, EndsWithANumber) {
  graph_template& chain = take(16, 1, 64);
  ASSERT_EQ(chain.completions(), 1u);
  for (std::uint32_t i = 0; i < 16; ++i) { ASSERT_EQ(chain.set(i, adding(1)), CUDA_SUCCESS); }
  ASSERT_EQ(chain.launch(lane_.stream(), lane_.counter(), 1), CUDA_SUCCESS);
  ASSERT_TRUE(reaches(1));
  EXPECT_EQ(sum(), 16u);
}

// requirement: every launch writes its own completion numbers and runs the nodes that were set for
// it. A disabled node does nothing.
TEST_P(GraphTemplate, IsRewrittenForEveryLaunch) {
  graph_template& chain = take(4, 1, 1);
  ASSERT_EQ(chain.completions(), 4u);
  std::uint32_t expected = 0;
  for (std::uint32_t round = 0; round < 50; ++round) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      bool const out = (round + i) % 3 == 0;
      ASSERT_EQ(out ? chain.disable(i) : chain.set(i, adding(round + i)), CUDA_SUCCESS);
      expected += out ? 0 : round + i;
    }
    ASSERT_EQ(chain.launch(lane_.stream(), lane_.counter(), 4 * round + 1), CUDA_SUCCESS);
  }
  ASSERT_TRUE(reaches(200));
  EXPECT_EQ(sum(), expected);
}

// requirement: a template is reused only for batches of the same shape
TEST_P(GraphTemplate, IsTakenByItsShape) {
  graph_template& first = take(8, 2, 2);
  pool_.give_back(first);
  EXPECT_NE(&take(8, 2, 4), &first);
  EXPECT_NE(&take(8, 4, 2), &first);
  EXPECT_EQ(&take(8, 2, 2), &first);
  EXPECT_EQ(pool_.made(), 3u);
}

// requirement: a template runs all its nodes, however many chains it has
TEST_P(GraphTemplate, HasAsManyChainsAsItsShape) {
  for (std::uint32_t width = 1; width <= template_pool::max_chains; width *= 2) {
    graph_template& wide = take(16, width, 1);
    EXPECT_EQ(wide.has_entry_node(), width > 1 && GetParam() == own::completion_and_entry);
    std::uint32_t const before = sum();
    std::uint64_t const first = 100 * width;
    for (std::uint32_t i = 0; i < 16; ++i) { ASSERT_EQ(wide.set(i, adding(i)), CUDA_SUCCESS); }
    ASSERT_EQ(wide.launch(lane_.stream(), lane_.counter(), first), CUDA_SUCCESS);
    ASSERT_TRUE(reaches(first + wide.completions() - 1)) << width;
    EXPECT_EQ(sum() - before, 120u) << width;
  }
}

// requirement: the tasks wait until the other lane has reached the number that was set for this
// launch
TEST_P(GraphTemplate, WaitsForANumberOfAnotherLane) {
  graph_template& wide = take_waiting(4, 2, 2);
  EXPECT_TRUE(wide.waits_on_device());
  EXPECT_TRUE(wide.has_entry_node());
  for (std::uint64_t round = 1; round <= 20; ++round) {
    std::uint64_t const wanted = 5 * round;
    for (std::uint32_t i = 0; i < 4; ++i) { ASSERT_EQ(wide.set(i, adding(1)), CUDA_SUCCESS); }
    ASSERT_EQ(wide.set_wait({page_.device_address(2), wanted, page_.stop_address()}), CUDA_SUCCESS);
    page_.raise(2, wanted - 1);
    ASSERT_EQ(wide.launch(lane_.stream(), lane_.counter(), round), CUDA_SUCCESS);
    // Nothing shows whether the waiting kernel has polled, so the test sleeps.
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
    ASSERT_EQ(sum(), 4 * (round - 1)) << "the tasks ran before the number was reached";
    page_.raise(2, wanted);
    ASSERT_TRUE(reaches(round));
    ASSERT_EQ(sum(), 4 * round);
  }
}

// requirement: a template with a device-side wait is used only for batches that wait
TEST_P(GraphTemplate, IsTakenByWhetherItWaits) {
  graph_template& waiting = take_waiting(4, 2, 2);
  pool_.give_back(waiting);
  EXPECT_NE(&take(4, 2, 2), &waiting);
  EXPECT_EQ(&take_waiting(4, 2, 2), &waiting);
}

// requirement: if the other lane never reaches the number, stopping the completion page ends the
// graph
TEST_P(GraphTemplate, EndsWhenThePageIsStopped) {
  graph_template& waiting = take_waiting(1, 1, 1);
  ASSERT_EQ(waiting.set_wait({page_.device_address(2), 1000, page_.stop_address()}), CUDA_SUCCESS);
  ASSERT_EQ(waiting.launch(lane_.stream(), lane_.counter(), 1), CUDA_SUCCESS);
  page_.stop();
  // On a GPU, flotilla's own kernel also traps. Fault.FaultEndsDependentTasksOfOtherDevices tests
  // this.
  settle();
}

INSTANTIATE_TEST_SUITE_P(Own, GraphTemplate,
                         ::testing::Values(own::none, own::completion, own::completion_and_entry),
                         [](auto const& of) {
                           return of.param == own::none         ? "an_operation"
                                  : of.param == own::completion ? "a_kernel"
                                                                : "a_kernel_and_an_entry_node";
                         });

}  // namespace
}  // namespace flotilla::dispatch
