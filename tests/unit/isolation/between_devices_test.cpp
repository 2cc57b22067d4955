// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Copies between the memory of two isolated devices.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "isolation/owner/owner.hpp"
#include "isolation/protocol/control_message.hpp"
#include "support/scale.hpp"
#include "unit/isolation/isolated_fixture.hpp"

namespace flotilla::test {
namespace {

class BetweenDevicesTest : public isolated_fixture {
 protected:
  void SetUp() override {
    FLOTILLA_NEED_DEVICES(2);
    isolated_fixture::SetUp();
    isolated::isolated_choice const device{1, false};
    auto const base = on_gpus() ? driver::gpu_driver().api : driver::cpu_driver().api;
    static_cast<void>(isolated::isolate(base, {&device, 1}, ""));
    CUcontext popped = nullptr;
    FLOTILLA_OK(api().ctx_create(&other_, 0, 1));
    FLOTILLA_OK(api().mem_alloc(&there_, bytes));
    FLOTILLA_OK(api().ctx_pop_current(&popped));
    FLOTILLA_OK(api().mem_alloc(&here_, bytes));
    std::iota(values_.begin(), values_.end(), static_cast<unsigned char>(3));
    FLOTILLA_OK(api().memcpy_htod(here_, values_.data(), bytes));
  }
  void TearDown() override {
    if (other_ == nullptr) { return; }
    EXPECT_EQ(api().ctx_destroy(other_), CUDA_SUCCESS);
    isolated_fixture::TearDown();
  }
  std::vector<unsigned char> read_there() {
    std::vector<unsigned char> found(bytes);
    CUcontext popped = nullptr;
    EXPECT_EQ(api().ctx_push_current(other_), CUDA_SUCCESS);
    EXPECT_EQ(api().memcpy_dtoh(found.data(), there_, bytes), CUDA_SUCCESS);
    EXPECT_EQ(api().ctx_pop_current(&popped), CUDA_SUCCESS);
    return found;
  }

  static constexpr std::size_t bytes = 1000000;
  std::vector<unsigned char> values_ = std::vector<unsigned char>(bytes);
  CUcontext other_ = nullptr;
  CUdeviceptr here_ = 0;
  CUdeviceptr there_ = 0;
};

// requirement
TEST_F(BetweenDevicesTest, BytesArrive) {
  FLOTILLA_OK(api().memcpy_peer_async(there_, other_, here_, context_, bytes, nullptr));
  EXPECT_EQ(read_there(), values_);
  int can = 1;
  FLOTILLA_OK(api().device_can_access_peer(&can, 0, 1));
  EXPECT_EQ(can, 0);
}

// regression: memory that was registered while a device got its next worker was missing there
TEST_F(BetweenDevicesTest, MemoryRegisteredDuringAReplacementIsThere) {
  isolated::isolated_device& lost = *isolated::owner::get().device(0);
  constexpr std::size_t max_blocks = 500;
  std::vector<void*> blocks(max_blocks);
  std::atomic<std::size_t> made{0};
  std::atomic<bool> over{false};
  std::thread other{[&] {  // uses the other device, which is never lost
    EXPECT_EQ(api().ctx_push_current(other_), CUDA_SUCCESS);
    while (!over && made < max_blocks) {
      EXPECT_EQ(api().mem_host_alloc(&blocks[made], 4096, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
      ++made;
      std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
  }};
  // A worker answers this without error only if it has the memory already, because nothing can be
  // registered with 0 bytes.
  isolated::control_message has_memory{};
  has_memory.kind = isolated::control_message::kinds::register_host;
  std::size_t checked = 0;
  for (std::size_t i = 0; i < scaled(20, 4); ++i) {
    recovery().kill(0);
    EXPECT_TRUE(recovery().replace(0)) << recovery().reason(0);
    for (std::size_t const known = made; checked < known; ++checked) {
      has_memory.address = reinterpret_cast<std::uint64_t>(blocks[checked]);
      EXPECT_EQ(lost.ask(has_memory), CUDA_SUCCESS) << "block " << checked;
    }
  }
  over = true;
  other.join();
  for (std::size_t i = 0; i < made; ++i) { FLOTILLA_OK(api().mem_free_host(blocks[i])); }
}

// requirement: short rows go many at once, a row of more than a piece goes in several
TEST_F(BetweenDevicesTest, RowsArrive) {
  for (auto const [width, height, pitch] : {std::array<std::size_t, 3>{100, 900, 1000},
                                            std::array<std::size_t, 3>{300000, 3, 330000}}) {
    FLOTILLA_OK(api().ctx_push_current(other_));
    FLOTILLA_OK(api().memset_d8(there_, 0, bytes));
    CUcontext popped = nullptr;
    FLOTILLA_OK(api().ctx_pop_current(&popped));
    CUDA_MEMCPY2D what{};
    what.srcMemoryType = what.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    what.srcDevice = here_;
    what.dstDevice = there_;
    what.srcPitch = what.dstPitch = pitch;
    what.WidthInBytes = width;
    what.Height = height;
    FLOTILLA_OK(api().memcpy_2d_async(&what, nullptr));
    std::vector<unsigned char> expected(bytes);
    for (std::size_t row = 0; row < height; ++row) {
      std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(row * pitch), width,
                  expected.begin() + static_cast<std::ptrdiff_t>(row * pitch));
    }
    EXPECT_EQ(read_there(), expected) << width;
  }
}

// requirement: what a worker cannot do is refused, and does not harm it
TEST_F(BetweenDevicesTest, OtherCopiesAreRefused) {
  EXPECT_EQ(api().memcpy_async(there_, here_, 4, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  CUgraph graph = nullptr;
  FLOTILLA_OK(api().graph_create(&graph, 0));
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = here_;
  copy.dstDevice = there_;
  copy.WidthInBytes = 4;
  copy.Height = copy.Depth = 1;
  CUgraphNode node = nullptr;
  EXPECT_EQ(api().graph_add_memcpy_node(&node, graph, nullptr, 0, &copy, context_),
            CUDA_ERROR_NOT_SUPPORTED);
  FLOTILLA_OK(api().graph_destroy(graph));
  FLOTILLA_OK(api().ctx_synchronize());
}

}  // namespace
}  // namespace flotilla::test
