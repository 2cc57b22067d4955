// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Ordered twins of kernels, whose launches wait for earlier launches of the same grid.
#include "driver_test.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <flotilla/detail/ordered_twin.hpp>

#include "cpu_driver/kernel/ordered_twin.hpp"

namespace flotilla::cpu_driver {
namespace {

/// The arguments of `append` as the driver packs them.
struct append_arguments {
  unsigned* to;
  unsigned const* from;
  int const* more;
};

/// A grid of launches of one or more blocks. The memory of a CPU device is memory of the host.
class OrderedTwinTest : public ContextTest {
 protected:
  static constexpr std::uint32_t stride = detail::twin_record_stride(sizeof(append_arguments));
  static constexpr std::size_t max_launches = 512;

  void SetUp() override {
    ContextTest::SetUp();
    records_ = shared<std::byte>(max_launches * stride);
    table_ = shared<std::uint32_t>(4 * max_launches);
    orders_ = shared<detail::twin_order>(max_launches);
    edges_ = shared<detail::twin_edge>(8 * max_launches);
    ends_ = shared<std::uint32_t>(detail::twin_words::max_waves);
    words_ = shared<std::byte>(detail::twin_words_header_bytes + max_launches * 4);
    number_ = shared<std::uint64_t>(1);
    stop_ = shared<std::uint64_t>(1);
  }
  void begin() {
    count_ = blocks_ = edge_count_ = waves_ = 0;
    std::memset(ends_, 0, detail::twin_words::max_waves * 4);
  }
  /// Adds a launch that waits for the launches `before`.
  void add(std::uint32_t blocks, std::uint32_t wave, std::vector<std::uint32_t> const& before,
           append_arguments const& arguments) {
    detail::twin_record const head{blocks_, {blocks, 1, 1}};
    std::byte* const record = records_ + std::size_t{count_} * stride;
    std::memcpy(record, &head, sizeof head);
    std::memcpy(record + sizeof head, &arguments, sizeof arguments);
    orders_[count_] = {edge_count_, static_cast<std::uint32_t>(before.size()), wave, 0};
    for (std::uint32_t const each : before) {
      edges_[edge_count_++] = {address(words_) + detail::twin_words_header_bytes + each * 4,
                               left_[each] + sizes_[each], 0};
    }
    sizes_[count_] = blocks;
    for (std::uint32_t i = 0; i < blocks; ++i) { table_[blocks_++] = count_; }
    ends_[wave] += blocks;
    waves_ = wave + 1;
    ++count_;
  }
  /// Runs the grid. The first `numbered` waves write their numbers, from `first_number` on.
  CUresult run(std::uint32_t numbered, std::uint64_t first_number = 1) {
    for (std::uint32_t i = 0; i < numbered; ++i) {
      ends_[i] = wave_left_[i] += ends_[i] + (i != 0 ? 1 : 0);
    }
    detail::ordered_twin_parameters parameters{{address(records_), address(table_), stride, 0},
                                               address(orders_),
                                               address(edges_),
                                               address(ends_),
                                               address(words_),
                                               address(number_),
                                               first_number,
                                               0,
                                               numbered,
                                               address(stop_)};
    std::array<void*, std::size(detail::ordered_twin_parameter_sizes)> arguments;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      arguments[i] =
          reinterpret_cast<std::byte*>(&parameters) + detail::ordered_twin_parameter_offsets[i];
    }
    for (std::uint32_t i = 0; i < count_; ++i) { left_[i] += sizes_[i]; }
    std::string const name = "append" + std::string{detail::ordered_twin_suffix};
    CUresult const answer = cu::cuLaunchKernel(function(name.c_str()), blocks_, 1, 1, 3, 1, 1, 0,
                                               nullptr, arguments.data(), nullptr);
    return answer != CUDA_SUCCESS ? answer : cu::cuCtxSynchronize();
  }
  /// The arguments of the twin for the functions of this driver.
  void* const* twin_arguments() {
    values_ = {address(records_),
               address(table_),
               stride,
               0,
               address(orders_),
               address(edges_),
               0,
               address(words_),
               0,
               0,
               0,
               0,
               address(stop_)};
    for (std::size_t i = 0; i < values_.size(); ++i) { value_addresses_[i] = &values_[i]; }
    return value_addresses_.data();
  }
  template <class T>
  static std::uint64_t address(T* of) {
    return reinterpret_cast<std::uint64_t>(of);
  }

  std::uint64_t* number_ = nullptr;
  std::uint64_t* stop_ = nullptr;
  std::byte* words_ = nullptr;
  detail::twin_order* orders_ = nullptr;
  detail::twin_edge* edges_ = nullptr;
  std::byte* records_ = nullptr;
  std::uint32_t* table_ = nullptr;

 private:
  std::uint32_t* ends_ = nullptr;
  // Smaller arguments are the low bytes.
  std::array<std::uint64_t, std::size(detail::ordered_twin_parameter_sizes)> values_{};
  std::array<void*, std::size(detail::ordered_twin_parameter_sizes)> value_addresses_{};
  std::uint32_t count_ = 0, blocks_ = 0, edge_count_ = 0, waves_ = 0;
  std::array<std::uint32_t, max_launches> sizes_{}, left_{};
  std::array<std::uint32_t, detail::twin_words::max_waves> wave_left_{};
};

// requirement: each launch sees what the launches before it have written, on several threads, and
// when the words are used again
TEST_F(OrderedTwinTest, LaunchesRunInTheirOrder) {
  constexpr std::uint32_t width = 40, steps = 10;
  unsigned* const values = shared<unsigned>((steps + 1) * width);
  int* const time = shared<int>(1);
  *time = 2000;  // nanoseconds, so that other threads help
  for (int repeat = 0; repeat < 30; ++repeat) {
    begin();
    std::memset(values, 0, (steps + 1) * width * sizeof *values);
    for (std::uint32_t step = 0; step < steps; ++step) {
      for (std::uint32_t i = 0; i < width; ++i) {
        std::vector<std::uint32_t> before;
        if (step != 0) { before = {(step - 1) * width + i, (step - 1) * width + (i + 1) % width}; }
        unsigned* const to = values + (step + 1) * width + i;
        add(1 + i % 3, step, before, {to, step != 0 ? to - width : values + i, time});
      }
    }
    ASSERT_OK(run(steps - 1, 1 + static_cast<std::uint64_t>(repeat) * steps));
    for (std::uint32_t step = 0; step < steps; ++step) {
      for (std::uint32_t i = 0; i < width; ++i) {
        // Every block adds 3 and what the launch before has made.
        unsigned const blocks = 1 + i % 3;
        unsigned const from = step != 0 ? values[step * width + i] : 0;
        ASSERT_EQ(values[(step + 1) * width + i], blocks * (3 + from)) << step << ' ' << i;
      }
    }
    EXPECT_EQ(*number_, static_cast<std::uint64_t>(repeat) * steps + steps - 1);
  }
}

// requirement: a block that waits for a launch that never ends stops when another block has failed
TEST_F(OrderedTwinTest, AFailedBlockEndsAllWaits) {
  begin();
  add(1, 0, {}, {nullptr, nullptr, nullptr});
  add(1, 1, {0}, {nullptr, nullptr, nullptr});
  std::atomic<grid_end> end{grid_end::completed};
  EXPECT_EQ(wait_for_launches(twin_arguments(), 0, end), block_go::run);
  std::atomic<block_go> went{block_go::run};
  std::thread other{[&] { went = wait_for_launches(twin_arguments(), 1, end); }};
  end = grid_end::trapped;
  other.join();
  EXPECT_EQ(went, block_go::stop);
  end = grid_end::completed;
  note_block_ended(twin_arguments(), 0);
  EXPECT_EQ(wait_for_launches(twin_arguments(), 1, end), block_go::run);
}

// requirement: the host can stop blocks that wait, also for its own decision
TEST_F(OrderedTwinTest, TheHostStopsWaits) {
  begin();
  add(1, 0, {}, {nullptr, nullptr, nullptr});
  add(1, 1, {0}, {nullptr, nullptr, nullptr});
  std::atomic<grid_end> const end{grid_end::completed};
  *stop_ = 1;
  EXPECT_EQ(wait_for_launches(twin_arguments(), 1, end), block_go::stop);
  orders_[0].flags = detail::twin_order::undecided;
  EXPECT_EQ(wait_for_launches(twin_arguments(), 0, end), block_go::stop);
}

// requirement: a block waits until the host has decided, and a skipped one waits for nothing
TEST_F(OrderedTwinTest, BlocksWaitForTheDecision) {
  begin();
  add(1, 0, {}, {nullptr, nullptr, nullptr});
  add(1, 1, {0}, {nullptr, nullptr, nullptr});
  std::atomic<grid_end> const end{grid_end::completed};
  for (auto const& [flags, expected] :
       {std::pair{0u, block_go::run}, {detail::twin_order::skipped, block_go::skip}}) {
    orders_[0].flags = detail::twin_order::undecided;
    std::atomic<bool> is_back{false};
    std::atomic<block_go> went{block_go::stop};
    std::thread other{[&] {
      went = wait_for_launches(twin_arguments(), 0, end);
      is_back = true;
    }};
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    EXPECT_FALSE(is_back);
    std::atomic_ref{orders_[0].flags}.store(flags, std::memory_order_release);
    other.join();
    EXPECT_EQ(went, expected);
  }
  orders_[1].flags = detail::twin_order::skipped;
  EXPECT_EQ(wait_for_launches(twin_arguments(), 1, end), block_go::skip);
}

// requirement: the blocks of skipped launches run no code, and are counted
TEST_F(OrderedTwinTest, SkippedLaunchesAreCounted) {
  unsigned* const values = shared<unsigned>(2);
  unsigned* const zero = shared<unsigned>(1);
  int* const time = shared<int>(1);
  for (bool const skipped : {true, false}) {
    values[0] = values[1] = 0;
    begin();
    add(2, 0, {}, {values, zero, time});
    add(1, 1, {0}, {values + 1, values, time});
    if (skipped) { orders_[0].flags = orders_[1].flags = detail::twin_order::skipped; }
    ASSERT_OK(run(1, skipped ? 1 : 2));
    EXPECT_EQ(values[0], skipped ? 0u : 6u);
    EXPECT_EQ(*number_, skipped ? 1u : 2u);
  }
}

}  // namespace
}  // namespace flotilla::cpu_driver
