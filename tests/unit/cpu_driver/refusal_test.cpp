// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Calls every entry point without a current context, with a destroyed current context, and with
// missing arguments. Requirement: each call returns the expected status and leaves the driver
// unchanged. Every entry point must have a row in one of the tables.
#include <algorithm>
#include <set>

#include "refusal_rows.hpp"

namespace flotilla::cpu_driver {
namespace {

using RefusalTest = DriverTest;

std::vector<refusal> const& all_refusals() {
  static std::vector<refusal> const all = [] {
    std::vector<refusal> rows;
    for (auto const& table : {refusals_of_devices_and_contexts(), refusals_of_streams_and_events(),
                              refusals_of_memory(), refusals_of_code()}) {
      rows.insert(rows.end(), table.begin(), table.end());
    }
    return rows;
  }();
  return all;
}

/// Entry points of graphs and captures have no row, because other tests check them.
bool is_of_graphs(std::string_view entry) {
  return entry.find("Graph") != std::string_view::npos ||
         entry.find("Capture") != std::string_view::npos;
}

char const* const entries[] = {
#define FLOTILLA_DRIVER_ENTRY(need, field, name, version, symbol) #symbol,
#include "base/driver_entries.inc"
#include "cpu_driver/base/extra_entries.inc"
#undef FLOTILLA_DRIVER_ENTRY
};

TEST(Refusals, HaveARowForEveryEntryPoint) {
  std::set<std::string_view> known;
  for (refusal const& each : all_refusals()) {
    EXPECT_TRUE(known.insert(each.entry).second) << each.entry << " has two rows";
  }
  for (std::string_view const entry : entries) {
    EXPECT_TRUE(known.erase(entry) != 0 || is_of_graphs(entry) || entry == "cuStreamIsCapturing")
        << entry << " has no row";
  }
  for (std::string_view const entry : known) { ADD_FAILURE() << entry << " is not an entry point"; }
}

TEST_F(RefusalTest, WithoutAContext) {
  for (refusal const& each : all_refusals()) {
    SCOPED_TRACE(each.entry);
    world w;
    EXPECT_STATUS(each.without, each.well(w));
  }
}

TEST_F(RefusalTest, WithADestroyedContextCurrent) {
  for (refusal const& each : all_refusals()) {
    SCOPED_TRACE(each.entry);
    world w;
    CUcontext const doomed = floating();
    ASSERT_OK(cu::cuCtxPushCurrent(doomed));
    // Another thread destroys the context, because cuCtxDestroy on this thread would also pop it.
    std::thread([&] { EXPECT_OK(cu::cuCtxDestroy(doomed)); }).join();
    EXPECT_STATUS(each.destroyed, each.well(w));
  }
}

TEST_F(RefusalTest, WithMissingArguments) {
  for (refusal const& each : all_refusals()) {
    SCOPED_TRACE(each.entry);
    world w;
    ASSERT_OK(cu::cuCtxPushCurrent(w.owner));
    EXPECT_STATUS(each.of_nothing, each.with_nothing(w));
  }
}

TEST_F(RefusalTest, HandlesOfADestroyedContextAreInvalid) {
  world w;
  world other;
  ASSERT_OK(cu::cuCtxDestroy(w.owner));
  ASSERT_OK(cu::cuCtxPushCurrent(other.owner));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxPushCurrent(w.owner));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxSetCurrent(w.owner));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxDestroy(w.owner));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxSynchronize_v2(w.owner));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxGetApiVersion(w.owner, &w.word));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT, cu::cuCtxEnablePeerAccess(w.owner, 0));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT,
                cu::cuMemcpyPeer(other.memory, other.owner, other.memory + 32, w.owner, 8));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuStreamSynchronize(w.stream));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuStreamDestroy(w.stream));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuEventRecord(w.event, nullptr));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuEventDestroy(w.event));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuStreamWaitEvent(nullptr, w.event, 0));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuModuleUnload(w.module));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE,
                cu::cuModuleGetFunction(&w.made_function, w.module, "store"));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE,
                cu::cuLaunchKernel(w.function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemFree(w.memory));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemFreeHost(w.host));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemcpyDtoD(other.memory, w.memory, 8));
}

TEST_F(RefusalTest, HandlesOfAnotherKindAreInvalid) {
  world w;
  ASSERT_OK(cu::cuCtxPushCurrent(w.owner));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuStreamQuery(reinterpret_cast<CUstream>(w.event)));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuEventQuery(reinterpret_cast<CUevent>(w.stream)));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT,
                cu::cuCtxPushCurrent(reinterpret_cast<CUcontext>(w.stream)));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuFuncLoad(reinterpret_cast<CUfunction>(w.module)));
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT,
                cu::cuGreenCtxDestroy(reinterpret_cast<CUgreenCtx>(w.owner)));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGreenCtxCreate(&w.made_green, reinterpret_cast<CUdevResourceDesc>(&w), 0,
                                     CU_GREEN_CTX_DEFAULT_STREAM));
}

}  // namespace
}  // namespace flotilla::cpu_driver
