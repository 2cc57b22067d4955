// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments for the calls in the refusal tables: a context that has an object of every kind, and
// variables that receive results.
#include <unistd.h>

#include <string>
#include <string_view>

#include "driver_test.hpp"

namespace flotilla::cpu_driver {

struct world {
  CUcontext owner = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUevent recorded = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUdeviceptr memory = 0;
  void* host = nullptr;
  CUdevResource whole{};
  CUdevResource part{};
  CUdevResourceDesc description = nullptr;
  CUgreenCtx green = nullptr;

  // These variables receive results.
  alignas(4096) char page[4096] = {};
  int number = 0;
  unsigned word = 0;
  unsigned long long wide = 0;
  std::size_t size = 0;
  float real = 0;
  char text[64] = "";
  char const* name = nullptr;
  void* pointer = nullptr;
  CUdeviceptr address = 0;
  CUuuid uuid{};
  CUcontext context = nullptr;
  CUstream made_stream = nullptr;
  CUevent made_event = nullptr;
  CUmodule made_module = nullptr;
  CUfunction made_function = nullptr;
  CUlibrary made_library = nullptr;
  CUkernel made_kernel = nullptr;
  CUgreenCtx made_green = nullptr;
  CUdevResource resource{};
  CUdevResourceDesc made_description = nullptr;
  CUfunc_cache cache{};
  CUsharedconfig bank{};
  CUstreamCaptureStatus capturing{};
  CUgraph graph = nullptr;
  CUfunctionLoadingState loading{};
  CUmoduleLoadingMode mode{};
  CUexecAffinityParam affinity{};
  CUDA_MEMCPY2D empty_copy{};
  CUmemcpyAttributes copy_order{CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, {}, {}, 0};
  CUmemAllocationProp wanted_block{};
  CUmemGenericAllocationHandle block = 0;
  CUmemGenericAllocationHandle made_block = 0;
  CUdeviceptr range = 0;
  int descriptor = -1;
  std::size_t block_bytes = 0;
  std::size_t eight = 8;
  std::size_t zero = 0;
  CUmemoryPool pool = nullptr;
  CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUpointer_attribute facts[1] = {CU_POINTER_ATTRIBUTE_CONTEXT};
  void* places[1] = {&context};

  world() {
    EXPECT_OK(cu::cuCtxCreate_v2(&owner, 0, 0));
    EXPECT_OK(cu::cuDeviceGetMemPool(&pool, 0));
    EXPECT_OK(cu::cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    EXPECT_OK(cu::cuEventCreate(&event, 0));
    EXPECT_OK(cu::cuEventCreate(&recorded, 0));
    EXPECT_OK(cu::cuEventRecord(recorded, stream));
    EXPECT_OK(cu::cuModuleLoadData(&module, test_cpu_driver_kernels.cpu));
    EXPECT_OK(cu::cuModuleGetFunction(&function, module, "nothing"));
    EXPECT_OK(cu::cuLibraryLoadData(&library, test_cpu_driver_kernels.cpu, nullptr, nullptr, 0,
                                    nullptr, nullptr, 0));
    EXPECT_OK(cu::cuLibraryGetKernel(&kernel, library, "store"));
    EXPECT_OK(cu::cuMemAlloc(&memory, 64));
    EXPECT_OK(cu::cuMemsetD8(memory, 0, 64));  // zeros, so that a wait for the value 0 ends at once
    EXPECT_OK(cu::cuMemHostAlloc(&host, 64, 0));
    EXPECT_OK(cu::cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
    unsigned groups = 1;
    EXPECT_OK(cu::cuDevSmResourceSplitByCount(&part, &groups, &whole, nullptr, 0, 16));
    EXPECT_OK(cu::cuDevResourceGenerateDesc(&description, &part, 1));
    EXPECT_OK(cu::cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    wanted_block.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted_block.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    wanted_block.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    EXPECT_OK(cu::cuMemGetAllocationGranularity(&block_bytes, &wanted_block,
                                                CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    EXPECT_OK(cu::cuMemCreate(&block, block_bytes, &wanted_block, 0));
    EXPECT_OK(cu::cuMemExportToShareableHandle(&descriptor, block,
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    EXPECT_OK(cu::cuMemAddressReserve(&range, block_bytes, 0, 0, 0));
    EXPECT_OK(cu::cuCtxSynchronize());
    EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
  }

  /// Destroys everything that successful calls have created.
  ~world() {
    while (cu::cuCtxPopCurrent(nullptr) == CUDA_SUCCESS) {}
    static_cast<void>(cu::cuMemUnmap(range, block_bytes));
    static_cast<void>(cu::cuMemAddressFree(range, block_bytes));
    static_cast<void>(cu::cuMemRelease(block));
    if (made_block != 0) { static_cast<void>(cu::cuMemRelease(made_block)); }
    ::close(descriptor);
    static_cast<void>(cu::cuGreenCtxDestroy(green));
    if (made_green != nullptr) { static_cast<void>(cu::cuGreenCtxDestroy(made_green)); }
    if (made_library != nullptr) { static_cast<void>(cu::cuLibraryUnload(made_library)); }
    static_cast<void>(cu::cuLibraryUnload(library));
    static_cast<void>(cu::cuCtxDestroy(owner));
    if (context != nullptr && context != owner) { static_cast<void>(cu::cuCtxDestroy(context)); }
    while (cu::cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS) {}
  }
  world(world const&) = delete;
  world& operator=(world const&) = delete;
};

/// One entry point, and its status in three cases: no context is current, the current context was
/// destroyed, or arguments are missing.
struct refusal {
  std::string_view entry;
  CUresult (*well)(world&);  // a call that succeeds if a context is current
  CUresult without;
  CUresult destroyed;
  CUresult (*with_nothing)(world&);  // a call with missing arguments and a valid context
  CUresult of_nothing;
};

}  // namespace flotilla::cpu_driver
