// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// How large a chunk of a bulk may be.

#include "dispatch/grid/chunk_limits.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace flotilla::dispatch {
namespace {

class ChunkLimits : public ::testing::Test {
 protected:
  ChunkLimits() {
    for (unsigned i = 0; i < 2; ++i) {
      device& made = devices_.emplace_back();
      made.ordinal = {i};
      made.kind = device_kind::gpu;
      made.multiprocessors = 132;
    }
  }
  /// Adds a kernel with a twin. @return its index.
  std::uint32_t add_kernel(float on_first_ns, float on_second_ns) {
    return static_cast<std::uint32_t>(kernels_.kernels.add([&](kernel_entry& made) {
      made.twin.functions.resize(2);
      made.twin.max_threads = 512;
      made.durations = std::make_unique<std::atomic<float>[]>(2);
      made.durations[0] = on_first_ns;
      made.durations[1] = on_second_ns;
    }));
  }
  chunk_limits::limit of(std::uint32_t kernel, extent grid, extent block,
                         std::optional<unsigned> device) {
    return chunk_limits{kernels_, devices_}.of(kernel, grid, block, device);
  }

  kernel_table kernels_;
  std::vector<device> devices_;
};

// requirement: a short kernel may fill a device several times, up to max_items
TEST_F(ChunkLimits, ShortKernels) {
  std::uint32_t const kernel = add_kernel(1000, 0);
  EXPECT_EQ(of(kernel, {1}, {32}, 0).items, chunk_limits::max_items);
  EXPECT_EQ(of(kernel, {1}, {32}, 0).blocks, 132u * 16 * 16);
  // 6 blocks of 256 threads run at once on each multiprocessor.
  EXPECT_EQ(of(kernel, {64}, {256}, 0).items, 132u * 6 * 16 / 64);
}

// requirement: a long kernel fills the device once
TEST_F(ChunkLimits, LongKernels) {
  std::uint32_t const kernel = add_kernel(100'000, 0);
  EXPECT_EQ(of(kernel, {1}, {32}, 0).items, chunk_limits::max_items);
  EXPECT_EQ(of(kernel, {8}, {256}, 0).items, 132u * 6 / 8);
  EXPECT_EQ(of(kernel, {16}, {256}, 0).items, 0u) << "too few items for a chunk";
}

// requirement: single tasks if there is no twin, no measurement, or a launch is too large
TEST_F(ChunkLimits, NoChunks) {
  std::uint32_t const kernel = add_kernel(1000, 0);
  EXPECT_EQ(of(kernel, {1}, {32}, 1).items, 0u) << "not measured on this device";
  EXPECT_EQ(of(kernel, {1}, {513}, 0).items, 0u) << "too many threads for the twin";
  EXPECT_EQ(of(kernel, {1, 65536}, {32}, 0).items, 0u) << "not a valid grid";
  EXPECT_NE(of(kernel, {132 * 6 / 4}, {256}, 0).items, 0u);
  EXPECT_EQ(of(kernel, {132 * 6 / 4 + 1}, {256}, 0).items, 0u) << "more than its share of blocks";
  auto const plain = static_cast<std::uint32_t>(kernels_.kernels.add([](kernel_entry&) {}));
  EXPECT_EQ(of(plain, {1}, {32}, 0).items, 0u) << "no twin";
}

// requirement: a chunk for any device suits each device that has measured the kernel
TEST_F(ChunkLimits, AnyDevice) {
  std::uint32_t const unknown = add_kernel(0, 0);
  EXPECT_EQ(of(unknown, {1}, {32}, std::nullopt).items, 0u);
  std::uint32_t const on_one = add_kernel(0, 100'000);
  EXPECT_EQ(of(on_one, {8}, {256}, std::nullopt).items, 132u * 6 / 8);
  std::uint32_t const on_both = add_kernel(1000, 100'000);
  EXPECT_EQ(of(on_both, {8}, {256}, std::nullopt).items, 132u * 6 / 8);
  EXPECT_EQ(of(on_both, {16}, {256}, std::nullopt).items, 0u);
}

// requirement: a chunk does not occupy a CPU device for long
TEST_F(ChunkLimits, CpuDevices) {
  for (device& each : devices_) { each.kind = device_kind::cpu; }
  EXPECT_EQ(of(add_kernel(1000, 0), {1}, {32}, 0).items, chunk_limits::max_items);
  EXPECT_EQ(of(add_kernel(20'000, 0), {1}, {32}, 0).items, 100u);
  EXPECT_EQ(of(add_kernel(1'000'000, 0), {1}, {32}, 0).items, 0u);
}

}  // namespace
}  // namespace flotilla::dispatch
