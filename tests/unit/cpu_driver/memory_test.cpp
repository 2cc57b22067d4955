// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Allocation, copies and fills.
#include "driver_test.hpp"

#include <numeric>
#include <vector>

namespace flotilla::cpu_driver {
namespace {

class MemoryTest : public ContextTest {
 protected:
  static CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr made = 0;
    EXPECT_OK(cu::cuMemAlloc(&made, bytes));
    return made;
  }
  static std::size_t available() {
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_OK(cu::cuMemGetInfo(&free, &total));
    return free;
  }
};

TEST_F(MemoryTest, IsAlignedAndCounted) {
  std::size_t const before = available();
  CUdeviceptr const made = allocate(1 << 20);
  EXPECT_EQ(made % 256, 0u);
  EXPECT_EQ(available(), before - (1 << 20));
  EXPECT_OK(cu::cuMemFree(made));
  EXPECT_EQ(available(), before);
}

TEST_F(MemoryTest, EndsAtTheDevicesCapacity) {
  inject("capacity=0:1MiB");
  EXPECT_EQ(available(), 1u << 20);
  CUdeviceptr const half = allocate(512 << 10);
  CUdeviceptr more = 0;
  EXPECT_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cu::cuMemAlloc(&more, 600 << 10));
  EXPECT_OK(cu::cuMemFree(half));
  EXPECT_OK(cu::cuMemAlloc(&more, 600 << 10));
  EXPECT_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cu::cuMemAlloc(&more, ~std::size_t{0}));
}

TEST_F(MemoryTest, WrongRequestsAndAddressesAreRefused) {
  CUdeviceptr made = 0;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemAlloc(&made, 0));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemAlloc(nullptr, 4));
  EXPECT_OK(cu::cuMemFree(0));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemFree(4096));
  made = allocate(64);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemFree(made + 8));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemFreeHost(reinterpret_cast<void*>(made)));
  EXPECT_OK(cu::cuMemFree(made));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemFree(made));
}

TEST_F(MemoryTest, StreamOrderedMemoryIsUsableAtOnceAndFreedInOrder) {
  gate closed;
  CUstream const where = stream();
  std::size_t const before = available();
  closed.hold(where);
  CUdeviceptr made = 0;
  EXPECT_OK(cu::cuMemAllocAsync(&made, 4096, where));
  EXPECT_OK(cu::cuMemsetD32Async(made, 3, 1024, where));
  EXPECT_OK(cu::cuMemFreeAsync(made, where));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemFreeAsync(made, where));
  EXPECT_EQ(available(), before - 4096);
  closed.open();
  EXPECT_OK(cu::cuStreamSynchronize(where));
  EXPECT_EQ(available(), before);
}

TEST_F(MemoryTest, StreamOrderedAllocationWaitsForPendingFrees) {
  inject("capacity=0:1MiB");
  CUstream const where = stream();
  CUdeviceptr first = 0;
  CUdeviceptr second = 0;
  EXPECT_OK(cu::cuMemAllocAsync(&first, 800 << 10, where));
  EXPECT_OK(launch("take", where, 5'000'000ll));
  EXPECT_OK(cu::cuMemFreeAsync(first, where));
  EXPECT_OK(cu::cuMemAllocAsync(&second, 800 << 10, where));
  CUdeviceptr third = 0;
  EXPECT_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cu::cuMemAllocAsync(&third, 800 << 10, where));
  EXPECT_OK(cu::cuMemFree(second));
}

TEST_F(MemoryTest, PointersTellWhatTheyPointTo) {
  CUdeviceptr const made = allocate(100);
  CUcontext owner = nullptr;
  CUmemorytype type{};
  int ordinal = 9;
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  EXPECT_OK(cu::cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, made + 50));
  EXPECT_OK(cu::cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, made));
  EXPECT_OK(cu::cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, made));
  EXPECT_EQ(owner, context_);
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(ordinal, 0);
  EXPECT_OK(cu::cuMemGetAddressRange(&start, &bytes, made + 99));
  EXPECT_EQ(start, made);
  EXPECT_EQ(bytes, 100u);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, made + 100));
  int* const host = shared<int>();
  EXPECT_OK(cu::cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(host)));
  EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
}

// An H200 answers in the same way.
TEST_F(MemoryTest, AddressIsUnknownAsSoonAsItsFreeHasBegun) {
  gate closed;
  CUstream const where = stream();
  CUdeviceptr made = 0;
  CUmemorytype type{};
  EXPECT_OK(cu::cuMemAllocAsync(&made, 100, where));
  EXPECT_OK(cu::cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, made));
  closed.hold(where);
  EXPECT_OK(cu::cuMemFreeAsync(made, where));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, made));
  closed.open();
  EXPECT_OK(cu::cuStreamSynchronize(where));
}

TEST_F(MemoryTest, AccessFlagsFollowPeerAccess) {
  CUdeviceptr const made = allocate(100);
  auto const flags = [made] {
    unsigned long long answer = 9;
    EXPECT_OK(cu::cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, made));
    return answer;
  };
  EXPECT_EQ(flags(), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CUcontext other = nullptr;
  EXPECT_OK(cu::cuCtxCreate_v2(&other, 0, 1));
  EXPECT_EQ(flags(), CU_MEM_ACCESS_FLAGS_PROT_NONE);
  EXPECT_OK(cu::cuCtxEnablePeerAccess(context_, 0));
  EXPECT_EQ(flags(), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_OK(cu::cuCtxDestroy(other));
  EXPECT_EQ(flags(), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

TEST_F(MemoryTest, PinnedMemoryHasOneAddressForHostAndDevice) {
  int* const host = shared<int>();
  CUdeviceptr device = 0;
  EXPECT_OK(cu::cuMemHostGetDevicePointer(&device, host, 0));
  EXPECT_EQ(device, address_of(host));
  int mine = 0;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemHostGetDevicePointer(&device, &mine, 0));
}

TEST_F(MemoryTest, TheApplicationsOwnMemoryCanBePinned) {
  std::vector<int> mine(1000);
  std::size_t const bytes = mine.size() * sizeof(int);
  EXPECT_OK(cu::cuMemHostRegister(mine.data(), bytes, 0));
  EXPECT_STATUS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cu::cuMemHostRegister(&mine[10], 4, 0));
  EXPECT_OK(cu::cuMemsetD32(address_of(mine.data()), 4, mine.size()));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(mine.back(), 4);
  EXPECT_OK(cu::cuMemHostUnregister(mine.data()));
  EXPECT_STATUS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cu::cuMemHostUnregister(mine.data()));
}

TEST_F(MemoryTest, CopiesThereAndBack) {
  std::vector<int> sent(1000);
  std::iota(sent.begin(), sent.end(), 1);
  std::vector<int> got(sent.size());
  std::size_t const bytes = sent.size() * sizeof(int);
  CUdeviceptr const a = allocate(bytes);
  CUdeviceptr const b = allocate(bytes);
  EXPECT_OK(cu::cuMemcpyHtoD(a, sent.data(), bytes));
  EXPECT_OK(cu::cuMemcpyDtoD(b, a, bytes));
  EXPECT_OK(cu::cuMemcpyDtoH(got.data(), b, bytes));
  EXPECT_EQ(got, sent);
  EXPECT_OK(cu::cuMemcpy(a, address_of(got.data()), bytes));
}

TEST_F(MemoryTest, CopiesBeyondAnAllocationAreRefused) {
  int mine[64] = {};
  CUdeviceptr const made = allocate(64);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemcpyHtoD(made, mine, 65));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemcpyHtoD(made + 60, mine, 5));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemcpyDtoH(mine, address_of(mine), 4));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemcpyHtoD(made, nullptr, 4));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemsetD8(made, 0, 65));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemsetD32(made + 2, 0, 1));
  EXPECT_OK(cu::cuMemcpyHtoD(made, mine, 0));
}

TEST_F(MemoryTest, ASynchronousCopyWaitsForTheNullStream) {
  CUdeviceptr const made = allocate(sizeof(int));
  EXPECT_OK(launch("take", nullptr, 3'000'000ll));
  EXPECT_OK(launch("store", nullptr, made, 9));
  int got = 0;
  EXPECT_OK(cu::cuMemcpyDtoH(&got, made, sizeof got));
  EXPECT_EQ(got, 9);
}

TEST_F(MemoryTest, PinnedCopiesReturnAtOnceAndPageableSourcesMayBeReused) {
  gate closed;
  CUstream const where = stream();
  CUdeviceptr const made = allocate(2 * sizeof(int));
  int* const pinned = shared<int>();
  closed.hold(where);
  int pageable = 1;
  EXPECT_OK(cu::cuMemcpyHtoDAsync(made, &pageable, sizeof(int), where));
  pageable = 2;
  EXPECT_OK(cu::cuMemcpyDtoHAsync(pinned, made, sizeof(int), where));
  EXPECT_EQ(std::atomic_ref(*pinned).load(), 0);
  closed.open();
  EXPECT_OK(cu::cuStreamSynchronize(where));
  EXPECT_EQ(*pinned, 1);
}

TEST_F(MemoryTest, ACopyToPageableMemoryIsCompleteWhenItReturns) {
  CUstream const where = stream();
  CUdeviceptr const made = allocate(sizeof(int));
  EXPECT_OK(launch("take", where, 3'000'000ll));
  EXPECT_OK(launch("store", where, made, 6));
  int got = 0;
  EXPECT_OK(cu::cuMemcpyDtoHAsync(&got, made, sizeof got, where));
  EXPECT_EQ(got, 6);
}

TEST_F(MemoryTest, CopiesBetweenDevices) {
  CUdeviceptr const here = allocate(sizeof(int));
  CUcontext const other = floating(1);
  ASSERT_OK(cu::cuCtxPushCurrent(other));
  CUdeviceptr const there = allocate(sizeof(int));
  CUstream where = nullptr;
  ASSERT_OK(cu::cuStreamCreate(&where, CU_STREAM_NON_BLOCKING));
  EXPECT_OK(cu::cuMemsetD32Async(there, 77, 1, where));
  EXPECT_OK(cu::cuMemcpyPeerAsync(here, context_, there, other, sizeof(int), where));
  EXPECT_OK(cu::cuStreamSynchronize(where));
  int got = 0;
  EXPECT_OK(cu::cuMemcpyDtoH(&got, here, sizeof got));
  EXPECT_EQ(got, 77);
  // A null context is allowed, because the address determines the context. If a context is passed,
  // the context must exist.
  EXPECT_OK(cu::cuMemcpyPeer(here, nullptr, there, other, 4));
  EXPECT_OK(cu::cuCtxDestroy(other));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuMemcpyPeer(here, context_, here, other, 4));
}

TEST_F(MemoryTest, FillsWithAllWidths) {
  auto* const words = shared<std::uint32_t>(3);
  EXPECT_OK(cu::cuMemsetD8(address_of(&words[0]), 0x11, 4));
  EXPECT_OK(cu::cuMemsetD16(address_of(&words[1]), 0x2222, 2));
  EXPECT_OK(cu::cuMemsetD32(address_of(&words[2]), 0x33333333, 1));
  EXPECT_EQ(words[0], 0x11111111u);
  EXPECT_EQ(words[1], 0x22222222u);
  EXPECT_EQ(words[2], 0x33333333u);
}

// regression: a fill was pending in one context, and a copy in another context did not see the
// result of the fill
TEST_F(MemoryTest, AFillIsVisibleInTheNextContext) {
  CUcontext const other = floating();
  for (int round = 1; round <= 50; ++round) {
    CUdeviceptr const made = allocate(64);
    EXPECT_OK(launch("nothing", nullptr));
    EXPECT_OK(cu::cuMemsetD8(made, static_cast<unsigned char>(round), 64));
    ASSERT_OK(cu::cuCtxPushCurrent(other));
    unsigned char got = 0;
    EXPECT_OK(cu::cuMemcpyDtoH(&got, made + 63, 1));
    EXPECT_EQ(got, round);
    ASSERT_OK(cu::cuCtxPopCurrent(nullptr));
    EXPECT_OK(cu::cuMemFree(made));
  }
  EXPECT_OK(cu::cuCtxDestroy(other));
}

}  // namespace
}  // namespace flotilla::cpu_driver
