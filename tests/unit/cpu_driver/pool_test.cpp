// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Memory pools, and devices that are not peers.
#include "driver_test.hpp"

namespace flotilla::cpu_driver {
namespace {

class PoolTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    EXPECT_OK(cu::cuDeviceGetMemPool(&pool_, 0));
  }
  void TearDown() override {
    control().clear_injection();
    EXPECT_OK(set(1, CU_MEM_ACCESS_FLAGS_PROT_NONE));
    ContextTest::TearDown();
  }
  static CUmemLocation at(int device) {
    CUmemLocation where{};
    where.type = CU_MEM_LOCATION_TYPE_DEVICE;
    where.id = device;
    return where;
  }
  CUresult set(int device, CUmemAccess_flags flags) {
    CUmemAccessDesc const wanted{at(device), flags};
    return cu::cuMemPoolSetAccess(pool_, &wanted, 1);
  }
  CUmemAccess_flags access_of(int device) {
    CUmemAccess_flags flags{};
    CUmemLocation where = at(device);
    EXPECT_OK(cu::cuMemPoolGetAccess(&flags, pool_, &where));
    return flags;
  }
  static unsigned long long flags_of(CUdeviceptr memory) {
    unsigned long long answer = 9;
    EXPECT_OK(cu::cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, memory));
    return answer;
  }

  CUmemoryPool pool_ = nullptr;  // of device 0
};

TEST_F(PoolTest, EveryDeviceHasOnePool) {
  CUmemoryPool again = nullptr;
  CUmemoryPool other = nullptr;
  EXPECT_OK(cu::cuDeviceGetDefaultMemPool(&again, 0));
  EXPECT_OK(cu::cuDeviceGetMemPool(&other, 1));
  EXPECT_EQ(again, pool_);
  EXPECT_NE(other, pool_);
  EXPECT_STATUS(CUDA_ERROR_INVALID_DEVICE, cu::cuDeviceGetMemPool(&other, 99));
  EXPECT_STATUS(CUDA_ERROR_INVALID_DEVICE, cu::cuDeviceGetDefaultMemPool(&other, -1));
}

TEST_F(PoolTest, MemoryOfAPoolNamesThePool) {
  CUstream const where = stream();
  CUdeviceptr pooled = 0;
  CUdeviceptr plain = 0;
  EXPECT_OK(cu::cuMemAllocAsync(&pooled, 100, where));
  EXPECT_OK(cu::cuMemAlloc(&plain, 100));
  CUmemoryPool found = nullptr;
  EXPECT_OK(cu::cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pooled));
  EXPECT_EQ(found, pool_);
  EXPECT_OK(cu::cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, plain));
  EXPECT_EQ(found, nullptr);
}

TEST_F(PoolTest, AccessOfContextsAndOfPoolsAreIndependent) {
  CUstream const where = stream();
  CUdeviceptr pooled = 0;
  CUdeviceptr plain = 0;
  EXPECT_OK(cu::cuMemAllocAsync(&pooled, 100, where));
  EXPECT_OK(cu::cuMemAlloc(&plain, 100));
  CUcontext const other = floating(1);
  EXPECT_OK(cu::cuCtxPushCurrent(other));
  EXPECT_EQ(flags_of(pooled), CU_MEM_ACCESS_FLAGS_PROT_NONE);
  EXPECT_OK(cu::cuCtxEnablePeerAccess(context_, 0));
  EXPECT_EQ(flags_of(plain), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_EQ(flags_of(pooled), CU_MEM_ACCESS_FLAGS_PROT_NONE) << "pools do not follow contexts";
  EXPECT_OK(set(1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  EXPECT_EQ(flags_of(pooled), CU_MEM_ACCESS_FLAGS_PROT_READWRITE) << "also for old allocations";
  EXPECT_OK(cu::cuCtxDisablePeerAccess(context_));
  EXPECT_EQ(flags_of(plain), CU_MEM_ACCESS_FLAGS_PROT_NONE);
  EXPECT_EQ(flags_of(pooled), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
  EXPECT_OK(cu::cuCtxDestroy(other));
}

TEST_F(PoolTest, AccessIsSetAndQueriedForEachDevice) {
  EXPECT_EQ(access_of(0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_EQ(access_of(1), CU_MEM_ACCESS_FLAGS_PROT_NONE);
  EXPECT_OK(set(1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  EXPECT_EQ(access_of(1), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_OK(set(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, set(0, CU_MEM_ACCESS_FLAGS_PROT_NONE));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, set(1, static_cast<CUmemAccess_flags>(77)));
  EXPECT_STATUS(CUDA_ERROR_INVALID_DEVICE, set(99, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  CUmemAccessDesc const several[] = {{at(1), CU_MEM_ACCESS_FLAGS_PROT_NONE},
                                     {at(99), CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
  EXPECT_STATUS(CUDA_ERROR_INVALID_DEVICE, cu::cuMemPoolSetAccess(pool_, several, 2));
  EXPECT_EQ(access_of(1), CU_MEM_ACCESS_FLAGS_PROT_READWRITE) << "a refused call changes nothing";
}

TEST_F(PoolTest, SeparatedDevicesHaveNoAccess) {
  inject("no_peer=1:0");
  int can = 9;
  EXPECT_OK(cu::cuDeviceCanAccessPeer(&can, 1, 0));
  EXPECT_EQ(can, 0);
  EXPECT_OK(cu::cuDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1) << "the rule is for one direction";
  EXPECT_OK(cu::cuDeviceGetP2PAttribute(&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 0));
  EXPECT_EQ(can, 0);
  EXPECT_STATUS(CUDA_ERROR_INVALID_DEVICE, set(1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  CUcontext const other = floating(1);
  EXPECT_OK(cu::cuCtxPushCurrent(other));
  EXPECT_STATUS(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cu::cuCtxEnablePeerAccess(context_, 0));
  EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
  EXPECT_OK(cu::cuCtxEnablePeerAccess(other, 0));
  control().clear_injection();
  EXPECT_OK(set(1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  inject("no_peer=1:0");
  EXPECT_EQ(access_of(1), CU_MEM_ACCESS_FLAGS_PROT_NONE);
  EXPECT_OK(cu::cuCtxDestroy(other));
}

}  // namespace
}  // namespace flotilla::cpu_driver
