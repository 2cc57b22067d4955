// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Unified addressing: every address is unique in the process. The tests also check which memory a
// context can access.
#include "contexts_test.hpp"

#include <algorithm>

namespace flotilla::test {
namespace {

class AddressSpace : public contexts_test {
 protected:
  /// Allocates memory in the current context and sets every byte to `value`.
  static CUdeviceptr filled(unsigned char value, std::size_t bytes = block) {
    CUdeviceptr const made = allocate(bytes);
    EXPECT_OK(cu().memset_d8(made, value, bytes));
    EXPECT_OK(cu().ctx_synchronize());
    return made;
  }
  static unsigned char first_byte(CUdeviceptr at) {
    unsigned char seen = 0;
    EXPECT_OK(cu().memcpy_dtoh(&seen, at, 1));
    return seen;
  }
  static CUcontext owner_of(CUdeviceptr at) {
    CUcontext found = nullptr;
    EXPECT_OK(cu().pointer_get_attribute(&found, CU_POINTER_ATTRIBUTE_CONTEXT, at));
    return found;
  }
  /// Whether device 0 can access the memory of device 1.
  static bool are_peers() {
    int can = 0;
    if (cu().device_can_access_peer == nullptr) { return false; }
    EXPECT_OK(cu().device_can_access_peer(&can, 0, 1));
    return can != 0;
  }
  static constexpr std::size_t block = 1u << 20;
};

// C1.6 C4.32 C4.33 C4.37: memory blocks of different contexts never overlap
TEST_F(AddressSpace, BlocksOfDifferentContextsNeverOverlap) {
  std::vector<std::pair<CUdeviceptr, CUcontext>> blocks;
  std::vector<CUcontext> contexts;
  for (int i = 0; i < 3; ++i) { contexts.push_back(floating(0, i % std::min(2, devices_there()))); }
  for (int round = 0; round < 8; ++round) {
    for (CUcontext const each : contexts) {
      pushed const here{each};
      blocks.emplace_back(filled(static_cast<unsigned char>(round)), each);
    }
  }
  std::sort(blocks.begin(), blocks.end());
  for (std::size_t i = 0; i + 1 < blocks.size(); ++i) {
    EXPECT_LE(blocks[i].first + block, blocks[i + 1].first);
    EXPECT_EQ(owner_of(blocks[i].first), blocks[i].second);
  }
}

// C1.5 C4.24 C4.34 (current drivers differ from the documentation): all contexts of one device
// share an address space and can access each other's memory
TEST_F(AddressSpace, ContextsOfOneDeviceReachEachOthersMemory) {
  CUcontext const a = create();
  CUdeviceptr const of_a = filled(5);
  pop();
  CUcontext const b = create();
  CUdeviceptr const of_b = filled(6);
  EXPECT_OK(cu().memcpy_dtod(of_b, of_a, block));
  EXPECT_EQ(first_byte(of_b), 5);
  EXPECT_OK(launch(function(load(), "put"), nullptr, of_a, 0x01010101))
      << "a kernel in context b must be able to write to memory of context a";
  EXPECT_OK(cu().ctx_synchronize());
  EXPECT_EQ(first_byte(of_a), 1);
  EXPECT_EQ(owner_of(of_a), a) << "the memory must still belong to context a";
  EXPECT_EQ(current(), b);
  pop();
}

// C4.50 (current drivers differ from the documentation): any code that knows the address of a
// floating context's memory can access this memory. Writes to other blocks do not change this
// memory, because blocks never overlap
TEST_F(AddressSpace, AFloatingContextsMemoryIsReachedByItsAddressOnly) {
  CUcontext const mine = create();
  CUdeviceptr const secret = filled(42);
  pop();
  CUcontext const stranger = create();
  CUdeviceptr const theirs = filled(1, 16 * block);
  EXPECT_OK(cu().memset_d8(theirs, 9, 16 * block));
  EXPECT_OK(cu().ctx_synchronize());
  pop();
  pushed const here{mine};
  EXPECT_EQ(first_byte(secret), 42);
  EXPECT_NE(owner_of(theirs), mine);
  EXPECT_EQ(owner_of(theirs), stranger);
}

// C4.35: the driver distinguishes addresses of device memory from addresses of host memory
TEST_F(AddressSpace, DeviceAndHostMemoryAreToldApart) {
  create();
  CUdeviceptr const on_device = filled(3);
  auto const on_host = reinterpret_cast<CUdeviceptr>(pinned(1));
  unsigned kind = 0;
  EXPECT_OK(cu().pointer_get_attribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, on_device));
  EXPECT_EQ(kind, unsigned{CU_MEMORYTYPE_DEVICE});
  EXPECT_OK(cu().pointer_get_attribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, on_host));
  EXPECT_EQ(kind, unsigned{CU_MEMORYTYPE_HOST});
  int plain = 0;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu().pointer_get_attribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                           reinterpret_cast<CUdeviceptr>(&plain)));
  pop();
}

// C4.37: devices and host share one address space
TEST_F(AddressSpace, AddressingIsUnified) {
  CUdevice device{};
  ASSERT_OK(cu().device_get(&device, 0));
  int unified = 0;
  EXPECT_OK(cu().device_get_attribute(&unified, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, device));
  EXPECT_EQ(unified, 1);
}

// C4.38: a kernel can write to mapped pinned memory, and the host can read the result
TEST_F(AddressSpace, MappedMemoryIsSharedWithTheHost) {
  create();
  std::uint32_t* const words = pinned(1);
  *words = 20;
  EXPECT_OK(launch(function(load(), "times_plus"), nullptr, words, 2, 1));
  EXPECT_OK(cu().ctx_synchronize());
  EXPECT_EQ(*words, 41u);
  pop();
}

// C4.36 C4.38 (current drivers differ from the documentation): memory of two devices never has the
// same address. After peer access is enabled, a device can access the memory of its peer
TEST_F(AddressSpace, PeersReachEachOthersMemory) {
  FLOTILLA_NEED_DEVICES(2);
  CUcontext const far = create(0, 1);
  CUdeviceptr const there = filled(8);
  pop();
  create(0, 0);
  CUdeviceptr const here = filled(9);
  EXPECT_NE(there, here);
  EXPECT_OK(cu().memcpy_dtod(here, there, block)) << "a copy must not need peer access";
  EXPECT_EQ(first_byte(here), 8);
  if (!are_peers()) {
    pop();
    GTEST_SKIP() << "needs two devices that are peers";
  }
  EXPECT_OK(cu().ctx_enable_peer_access(far, 0));
  EXPECT_OK(launch(function(load(), "put"), nullptr, there, 0x02020202));
  EXPECT_OK(cu().ctx_synchronize());
  EXPECT_EQ(first_byte(there), 2);
  pop();
}

// C4.38: memory of a pool does not follow the access of contexts. The pool itself gives the access
TEST_F(AddressSpace, PeersReachMemoryOfPools) {
  FLOTILLA_NEED_DEVICES(2);
  CUcontext const far = create(0, 1);
  CUstream where = nullptr;
  CUdeviceptr there = 0;
  ASSERT_OK(cu().stream_create(&where, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(cu().mem_alloc_async(&there, block, where));
  EXPECT_OK(cu().memset_d8_async(there, 8, block, where));
  EXPECT_OK(cu().stream_synchronize(where));
  pop();
  create(0, 0);
  if (!are_peers()) {
    pop();
    GTEST_SKIP() << "needs two devices that are peers";
  }
  CUmemoryPool pool = nullptr;
  ASSERT_OK(cu().device_get_mem_pool(&pool, 1));
  CUmemAccessDesc wanted{};
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = 0;
  EXPECT_OK(cu().mem_pool_set_access(pool, &wanted, 1));  // the flags are PROT_NONE
  unsigned long long flags = 9;
  auto const ask = [&] {
    EXPECT_OK(cu().pointer_get_attribute(&flags, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, there));
    return flags;
  };
  EXPECT_OK(cu().ctx_enable_peer_access(far, 0));
  // On GPUs this attribute is always PROT_READWRITE, also where a kernel faults
  // (docs/results/h100x2-contexts.txt). cuMemPoolGetAccess tells the truth there.
  if (!on_gpus()) { EXPECT_EQ(ask(), CU_MEM_ACCESS_FLAGS_PROT_NONE); }
  wanted.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  EXPECT_OK(cu().mem_pool_set_access(pool, &wanted, 1));
  EXPECT_EQ(ask(), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_OK(launch(function(load(), "put"), nullptr, there, 0x02020202));
  EXPECT_OK(cu().ctx_synchronize());
  EXPECT_EQ(first_byte(there), 2);
  pop();
}

}  // namespace
}  // namespace flotilla::test
