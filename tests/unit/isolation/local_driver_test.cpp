// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The driver of devices in this process beside an isolated one: pinned memory of both, and copies
// between the two.
#include <gmock/gmock.h>

#include <array>
#include <cstring>
#include <numeric>

#include "isolation/owner/owner.hpp"
#include "unit/isolation/isolated_fixture.hpp"

namespace flotilla::test {
namespace {

class LocalDriverTest : public isolated_fixture {
 protected:
  void SetUp() override {
    FLOTILLA_NEED_DEVICES(2);
    isolated_fixture::SetUp();
    isolated::isolated_choice const device{0, false};
    auto const base = on_gpus() ? driver::gpu_driver().api : driver::cpu_driver().api;
    local_ = isolated::isolate(base, {&device, 1}, "").local;
    CUcontext popped = nullptr;
    FLOTILLA_OK(local().ctx_create(&other_, 0, 1));
    FLOTILLA_OK(local().mem_alloc(&there_, bytes));
    FLOTILLA_OK(local().ctx_pop_current(&popped));
    EXPECT_EQ(popped, other_);
    FLOTILLA_OK(api().mem_alloc(&here_, bytes));
    std::iota(values_.begin(), values_.end(), static_cast<unsigned char>(3));
  }
  void TearDown() override {
    if (other_ == nullptr) { return; }
    EXPECT_EQ(local().ctx_destroy(other_), CUDA_SUCCESS);
    isolated_fixture::TearDown();
  }
  driver::table const& local() { return *local_; }

  /// Calls action() with the context of this process on top.
  template <class Action>
  void in_this_process(Action const& action) {
    CUcontext popped = nullptr;
    FLOTILLA_OK(local().ctx_push_current(other_));
    action();
    FLOTILLA_OK(local().ctx_pop_current(&popped));
    EXPECT_EQ(popped, other_);
  }
  /// Sets all bytes on one device to `values_`, and on the other device to 0.
  void begin(bool from_here) {
    std::vector<unsigned char> const zeros(bytes);
    FLOTILLA_OK(api().memcpy_htod(here_, (from_here ? values_ : zeros).data(), bytes));
    in_this_process([&] {
      FLOTILLA_OK(local().memcpy_htod(there_, (from_here ? zeros : values_).data(), bytes));
    });
  }
  std::vector<unsigned char> read(bool on_here) {
    std::vector<unsigned char> found(bytes);
    if (on_here) {
      EXPECT_EQ(api().memcpy_dtoh(found.data(), here_, bytes), CUDA_SUCCESS);
    } else {
      in_this_process([&] { FLOTILLA_OK(local().memcpy_dtoh(found.data(), there_, bytes)); });
    }
    return found;
  }

  static constexpr std::size_t bytes = 1000000;
  std::vector<unsigned char> values_ = std::vector<unsigned char>(bytes);
  std::shared_ptr<driver::table const> local_;
  CUcontext other_ = nullptr;  // of this process
  CUdeviceptr here_ = 0;       // of the isolated device
  CUdeviceptr there_ = 0;
};

// requirement: in both directions, called with either driver
TEST_F(LocalDriverTest, BytesArrive) {
  begin(true);
  FLOTILLA_OK(api().memcpy_peer_async(there_, other_, here_, context_, bytes, nullptr));
  EXPECT_EQ(read(false), values_);
  begin(false);
  in_this_process([&] {
    FLOTILLA_OK(local().memcpy_peer_async(here_, context_, there_, other_, bytes, nullptr));
  });
  EXPECT_EQ(read(true), values_);
}

// requirement: short rows go many at once, a row of more than a piece goes in several
TEST_F(LocalDriverTest, RowsArrive) {
  for (auto const [width, height, pitch] : {std::array<std::size_t, 3>{100, 900, 1000},
                                            std::array<std::size_t, 3>{300000, 3, 330000}}) {
    std::vector<unsigned char> expected(bytes);
    for (std::size_t row = 0; row < height; ++row) {
      std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(row * pitch), width,
                  expected.begin() + static_cast<std::ptrdiff_t>(row * pitch));
    }
    for (bool const from_here : {true, false}) {
      begin(from_here);
      CUDA_MEMCPY2D what{};
      what.srcMemoryType = what.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
      what.srcDevice = from_here ? here_ : there_;
      what.dstDevice = from_here ? there_ : here_;
      what.srcPitch = what.dstPitch = pitch;
      what.WidthInBytes = width;
      what.Height = height;
      CUcontext const from = from_here ? context_ : other_;
      CUcontext const to = from_here ? other_ : context_;
      FLOTILLA_OK(local().copy_rows_between(&what, to, from, nullptr));
      EXPECT_EQ(read(!from_here), expected) << width;
    }
  }
}

// requirement: a stack may have contexts of both kinds, and each call is for the one on top
TEST_F(LocalDriverTest, ContextsOfBothKindsAreOnOneStack) {
  CUcontext current = nullptr;
  CUdevice device = -1;
  FLOTILLA_OK(api().ctx_get_device(&device));
  EXPECT_EQ(device, 0);
  in_this_process([&] {
    for (driver::table const* const each : {&api(), &local()}) {
      FLOTILLA_OK(each->ctx_get_current(&current));
      EXPECT_EQ(current, other_);
      FLOTILLA_OK(each->ctx_get_device(&device));
      EXPECT_EQ(device, 1);
    }
    FLOTILLA_OK(api().ctx_push_current(context_));
    FLOTILLA_OK(api().ctx_get_current(&current));
    EXPECT_EQ(current, context_);
    FLOTILLA_OK(api().ctx_pop_current(&current));
  });
  FLOTILLA_OK(local().ctx_get_current(&current));
  EXPECT_EQ(current, context_);
}

// requirement: kernels of the worker and of this process use pinned memory at the same address. A
// block that was freed can be used again.
TEST_F(LocalDriverTest, PinnedMemoryIsOfBoth) {
  CUfunction const add_to = function("add_to");
  for (int round = 0; round < 3; ++round) {
    void* made = nullptr;
    CUdeviceptr seen_there = 0, seen_here = 0;
    in_this_process([&] {
      FLOTILLA_OK(local().mem_host_alloc(&made, 5000, CU_MEMHOSTALLOC_PORTABLE));
      FLOTILLA_OK(local().mem_host_get_device_pointer(&seen_there, made, 0));
    });
    FLOTILLA_OK(api().mem_host_get_device_pointer(&seen_here, made, 0));
    EXPECT_EQ(seen_here, reinterpret_cast<CUdeviceptr>(made));
    EXPECT_EQ(seen_there, seen_here);
    std::memset(made, 0, 5000);
    FLOTILLA_OK(add(add_to, seen_here, 5, nullptr));
    FLOTILLA_OK(api().ctx_synchronize());
    EXPECT_EQ(*static_cast<std::uint32_t*>(made), 5u);
    in_this_process([&] {
      FLOTILLA_OK(local().memcpy_htod_async(there_, made, 4, nullptr));
      FLOTILLA_OK(local().memcpy_dtoh_async(static_cast<std::byte*>(made) + 4, there_, 4, nullptr));
      FLOTILLA_OK(local().ctx_synchronize());
      unsigned type = 0;
      FLOTILLA_OK(
          local().pointer_get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, seen_there));
      EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
      FLOTILLA_OK(local().mem_free_host(made));
      EXPECT_EQ(local().mem_host_get_device_pointer(&seen_there, made, 0),
                CUDA_ERROR_INVALID_VALUE);
    });
    EXPECT_EQ(static_cast<std::uint32_t*>(made)[1], 5u);
  }
}

// requirement: memory that only the worker has registered is not memory of this process's devices
TEST_F(LocalDriverTest, MemoryOfWorkersAloneIsRefused) {
  void* made = nullptr;
  FLOTILLA_OK(api().mem_host_alloc(&made, 5000, CU_MEMHOSTALLOC_PORTABLE));
  CUdeviceptr seen = 0;
  FLOTILLA_OK(api().mem_host_get_device_pointer(&seen, made, 0));
  in_this_process([&] {
    EXPECT_EQ(local().mem_host_get_device_pointer(&seen, made, 0), CUDA_ERROR_INVALID_VALUE);
  });
  FLOTILLA_OK(api().mem_free_host(made));
}

// requirement: registered memory of device_recovery::allocate_shared is of both
TEST_F(LocalDriverTest, SharedMemoryIsRegisteredForBoth) {
  void* const shared = local().beside->allocate_shared(1 << 16);
  ASSERT_NE(shared, nullptr);
  in_this_process([&] {
    CUdeviceptr seen = 0;
    FLOTILLA_OK(local().mem_host_register(shared, 1 << 16, CU_MEMHOSTREGISTER_PORTABLE));
    FLOTILLA_OK(local().mem_host_get_device_pointer(&seen, shared, 0));
    EXPECT_TRUE(recovery().can_access(0, seen));
    FLOTILLA_OK(local().mem_host_unregister(shared));
    EXPECT_FALSE(recovery().can_access(0, seen));
  });
  local().beside->free_shared(shared);
}

// requirement: no device has access to memory of the other kind
TEST_F(LocalDriverTest, AccessIsToldForTheCurrentContext) {
  unsigned long long access = 7;
  FLOTILLA_OK(api().pointer_get_attribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, there_));
  EXPECT_EQ(access, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  FLOTILLA_OK(api().pointer_get_attribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, here_));
  EXPECT_EQ(access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  in_this_process([&] {
    FLOTILLA_OK(local().pointer_get_attribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, here_));
    EXPECT_EQ(access, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    FLOTILLA_OK(local().pointer_get_attribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, there_));
    EXPECT_EQ(access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  });
}

// requirement: the hot entries are those of the driver itself
TEST_F(LocalDriverTest, LaunchesAreThoseOfTheDriver) {
  driver::table const& base = on_gpus() ? *driver::gpu_driver().api : *driver::cpu_driver().api;
  EXPECT_EQ(local().launch_kernel, base.launch_kernel);
  EXPECT_EQ(local().graph_launch, base.graph_launch);
  EXPECT_EQ(local().memcpy_batch_async, base.memcpy_batch_async);
  EXPECT_EQ(local().recovery, nullptr);
}

}  // namespace
}  // namespace flotilla::test
