// Templates on a CPU device, without a runtime: rows, and marks on the way.

#include "dispatch/graph_template.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "unit/dispatch/lane_test.hpp"

namespace flotilla::dispatch {
namespace {

enum class own { none, marks, marks_and_root };

/// With the driver's operation as the marks, and with a kernel; with another ahead of several chains.
class GraphTemplate : public template_test, public ::testing::WithParamInterface<own> {
 protected:
  GraphTemplate() {
    add_ = function("add_to");
    hold_ = function("hold_until");
    marker_ = GetParam() != own::none ? function("write_number") : nullptr;
    pool_.use(GetParam() == own::marks_and_root ? function("nothing") : nullptr, function("await_number"));
  }
  ~GraphTemplate() override {
    go_on();
    settle();
    pool_.destroy();
  }

  /// A node that adds to a sum; and one that stays until it may go on.
  CUDA_KERNEL_NODE_PARAMS const& adding(std::uint32_t amount) {
    amount_ = amount;
    return node(add_, add_arguments_.data());
  }
  CUDA_KERNEL_NODE_PARAMS const& holding() { return node(hold_, hold_arguments_.data()); }
  void go_on() { std::atomic_ref{words_[1]}.store(1, std::memory_order_release); }
  [[nodiscard]] std::uint32_t sum() { return std::atomic_ref{sum_}.load(std::memory_order_acquire); }
  graph_template& take(std::uint32_t size, std::uint32_t width, std::uint32_t run) {
    return pool_.take(size, width, run, adding(0), lane_.counter(), marker_);
  }

  template_pool pool_{context_};
  CUfunction marker_ = nullptr;

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

// requirement: what lies before a mark is seen to be done while what lies behind it is not
TEST_P(GraphTemplate, WritesANumberBehindEveryRun) {
  graph_template& four_rows = take(8, 2, 2);
  ASSERT_EQ(four_rows.marks(), 2u);
  EXPECT_EQ(four_rows.mark_of(3), 0u);
  EXPECT_EQ(four_rows.mark_of(4), 1u);
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

// requirement: one mark where the rows are no more than a run
TEST_P(GraphTemplate, EndsWithANumber) {
  graph_template& chain = take(16, 1, 64);
  ASSERT_EQ(chain.marks(), 1u);
  for (std::uint32_t i = 0; i < 16; ++i) { ASSERT_EQ(chain.set(i, adding(1)), CUDA_SUCCESS); }
  ASSERT_EQ(chain.launch(lane_.stream(), lane_.counter(), 1), CUDA_SUCCESS);
  ASSERT_TRUE(reaches(1));
  EXPECT_EQ(sum(), 16u);
}

// requirement: every launch has its own numbers and its own nodes, and one that is disabled does nothing
TEST_P(GraphTemplate, IsRewrittenForEveryLaunch) {
  graph_template& chain = take(4, 1, 1);
  ASSERT_EQ(chain.marks(), 4u);
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

// requirement: one of the same shape is used again, one of another is not
TEST_P(GraphTemplate, IsTakenByItsShape) {
  graph_template& first = take(8, 2, 2);
  pool_.give_back(first);
  EXPECT_NE(&take(8, 2, 4), &first);
  EXPECT_NE(&take(8, 4, 2), &first);
  EXPECT_EQ(&take(8, 2, 2), &first);
  EXPECT_EQ(pool_.made(), 3u);
}

// requirement: as wide as batches of few tasks are, and as batches of long ones
TEST_P(GraphTemplate, IsAsWideAsItsShape) {
  for (std::uint32_t width = 1; width <= template_pool::most_width; width *= 2) {
    graph_template& wide = take(16, width, 1);
    EXPECT_EQ(wide.rooted(), width > 1 && GetParam() == own::marks_and_root);
    std::uint32_t const before = sum();
    std::uint64_t const first = 100 * width;
    for (std::uint32_t i = 0; i < 16; ++i) { ASSERT_EQ(wide.set(i, adding(i)), CUDA_SUCCESS); }
    ASSERT_EQ(wide.launch(lane_.stream(), lane_.counter(), first), CUDA_SUCCESS);
    ASSERT_TRUE(reaches(first + wide.marks() - 1)) << width;
    EXPECT_EQ(sum() - before, 120u) << width;
  }
}

// requirement: what awaits a number runs when that is reached, in each launch another one
TEST_P(GraphTemplate, AwaitsANumberOfAnotherLane) {
  graph_template& wide = pool_.take(4, 2, 2, adding(0), lane_.counter(), marker_, true);
  EXPECT_TRUE(wide.awaits());
  EXPECT_TRUE(wide.rooted());
  for (std::uint64_t round = 1; round <= 20; ++round) {
    std::uint64_t const wanted = 5 * round;
    for (std::uint32_t i = 0; i < 4; ++i) { ASSERT_EQ(wide.set(i, adding(1)), CUDA_SUCCESS); }
    ASSERT_EQ(wide.await({page_.device_address(2), wanted, page_.stopped_address()}), CUDA_SUCCESS);
    page_.raise(2, wanted - 1);
    ASSERT_EQ(wide.launch(lane_.stream(), lane_.counter(), round), CUDA_SUCCESS);
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
    ASSERT_EQ(sum(), 4 * (round - 1)) << "one number too early";
    page_.raise(2, wanted);
    ASSERT_TRUE(reaches(round));
    ASSERT_EQ(sum(), 4 * round);
  }
}

// requirement: nor is it taken by who waits for nothing
TEST_P(GraphTemplate, IsTakenByWhetherItAwaits) {
  graph_template& awaiting = pool_.take(4, 2, 2, adding(0), lane_.counter(), marker_, true);
  pool_.give_back(awaiting);
  EXPECT_NE(&take(4, 2, 2), &awaiting);
  EXPECT_EQ(&pool_.take(4, 2, 2, adding(0), lane_.counter(), marker_, true), &awaiting);
}

// requirement: what awaits a number that will never come ends when all is over
TEST_P(GraphTemplate, EndsWhereAllIsOver) {
  graph_template& awaiting = pool_.take(1, 1, 1, adding(0), lane_.counter(), marker_, true);
  ASSERT_EQ(awaiting.await({page_.device_address(2), 1000, page_.stopped_address()}), CUDA_SUCCESS);
  ASSERT_EQ(awaiting.launch(lane_.stream(), lane_.counter(), 1), CUDA_SUCCESS);
  page_.stop();
  settle();  // what a GPU does besides, it faults, has a test of its own: Fault.EndsWhatAwaitsTheGuilty
}

INSTANTIATE_TEST_SUITE_P(Own, GraphTemplate, ::testing::Values(own::none, own::marks, own::marks_and_root), [](auto const& of) {
  return of.param == own::none ? "an_operation" : of.param == own::marks ? "a_kernel" : "a_kernel_and_a_root";
});

}  // namespace
}  // namespace flotilla::dispatch
