// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Pinned memory of isolated devices: what is freed stays registered for a while.
#include "isolation/memory/host_arena.hpp"

#include <atomic>
#include <cstdint>

#include "isolation/owner/owner.hpp"
#include "support/eventually.hpp"
#include "unit/isolation/isolated_fixture.hpp"

namespace flotilla::test {
namespace {

using isolated::host_arena;

class HostMemoryTest : public isolated_fixture {
 protected:
  /// Allocates pinned memory.
  std::uint32_t* pinned(std::size_t bytes) {
    void* made = nullptr;
    EXPECT_EQ(api().mem_host_alloc(&made, bytes, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
    return static_cast<std::uint32_t*>(made);
  }
};

// regression: every worker waited for its kernels before it unregistered the memory
TEST_F(HostMemoryTest, CanBeFreedWhileAKernelWaitsForTheThread) {
  std::uint32_t* const words = pinned(8);
  words[0] = words[1] = 0;
  std::uint32_t* const other = pinned(100'000);
  CUstream stream = nullptr;
  FLOTILLA_OK(api().stream_create(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr address = reinterpret_cast<CUdeviceptr>(words);
  void* arguments[] = {&address};
  FLOTILLA_OK(
      api().launch_kernel(function("hold_until"), 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr));
  EXPECT_TRUE(
      eventually([&] { return std::atomic_ref{words[0]}.load(std::memory_order_acquire) != 0; }));
  FLOTILLA_OK(api().mem_free_host(other));
  EXPECT_EQ(api().stream_query(stream), CUDA_ERROR_NOT_READY);
  std::atomic_ref{words[1]}.store(1, std::memory_order_release);
  FLOTILLA_OK(api().stream_synchronize(stream));
  FLOTILLA_OK(api().mem_free_host(words));
  FLOTILLA_OK(api().stream_destroy(stream));
}

// requirement: freed memory is used again, but it cannot be used or freed before
TEST_F(HostMemoryTest, FreedMemoryIsUsedAgain) {
  std::uint32_t* const first = pinned(300'000);
  FLOTILLA_OK(api().mem_free_host(first));
  EXPECT_EQ(api().mem_free_host(first), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr seen = 0;
  EXPECT_EQ(api().mem_host_get_device_pointer(&seen, first, 0), CUDA_ERROR_INVALID_VALUE);
  std::uint32_t* const second = pinned(290'000);
  EXPECT_EQ(second, first);
  FLOTILLA_OK(api().mem_host_get_device_pointer(&seen, second, 0));
  FLOTILLA_OK(api().mem_free_host(second));
}

// boundary
TEST_F(HostMemoryTest, BlocksAreKeptUpToALimit) {
  host_arena& memory = isolated::owner::get().host();
  constexpr std::size_t mib = std::size_t{1} << 20;
  constexpr std::size_t most = host_arena::max_kept_bytes - 64 * mib;
  void* const large = memory.allocate(most);
  void* const small = memory.allocate(128 * mib);
  ASSERT_NE(large, nullptr);
  EXPECT_TRUE(memory.keep(large));
  EXPECT_FALSE(memory.find(large).has_value());
  EXPECT_FALSE(memory.keep(small));
  EXPECT_TRUE(memory.find(small).has_value());
  // Neither a much smaller request nor other flags get the block.
  EXPECT_EQ(memory.reuse(most / 4, 0), nullptr);
  EXPECT_EQ(memory.reuse(most, CU_MEMHOSTALLOC_WRITECOMBINED), nullptr);
  EXPECT_EQ(memory.reuse(most - mib, 0), large);
  EXPECT_TRUE(memory.free(large));
  EXPECT_TRUE(memory.free(small));
}

}  // namespace
}  // namespace flotilla::test
