// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Launches: grids, blocks and arguments that are refused, and the values that kernels receive.
#include "driver_test.hpp"

#include <array>

namespace flotilla::cpu_driver {
namespace {

class LaunchTest : public ContextTest {
 protected:
  CUresult launch_shape(char const* name, unsigned grid, unsigned block,
                        unsigned shared_bytes = 0) {
    return cu::cuLaunchKernel(function(name), grid, 1, 1, block, 1, 1, shared_bytes, nullptr,
                              nullptr, nullptr);
  }
};

TEST_F(LaunchTest, WrongShapesAreRefusedAndDoNoHarm) {
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, launch_shape("nothing", 1, 1025));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, launch_shape("nothing", 0, 1));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, launch_shape("nothing", 1, 0));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, launch_shape("bounded", 1, 65));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, launch_shape("nothing", 1, 1, 300000));
  CUfunction const nothing = function("nothing");
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuLaunchKernel(nothing, 1, 65536, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 65, 0, nullptr, nullptr, nullptr));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuLaunchKernel(nothing, 1, 1, 1, 64, 32, 1, 0, nullptr, nullptr, nullptr));
  EXPECT_OK(launch_shape("bounded", 1, 64));
  EXPECT_OK(cu::cuCtxSynchronize());
}

TEST_F(LaunchTest, MoreSharedMemoryMustBeRequested) {
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, launch_shape("nothing", 1, 1, 100000));
  auto const which = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuFuncSetAttribute(function("nothing"), which, 300000));
  EXPECT_OK(cu::cuFuncSetAttribute(function("nothing"), which, 100000));
  int value = 0;
  EXPECT_OK(cu::cuFuncGetAttribute(&value, which, function("nothing")));
  EXPECT_EQ(value, 100000);
  EXPECT_OK(launch_shape("nothing", 1, 1, 100000));
}

// The values of an H200 for a kernel that uses few registers.
TEST_F(LaunchTest, OccupancyDependsOnThreadsAndSharedMemory) {
  auto const blocks = [&](char const* kernel, int threads, std::size_t shared_bytes) {
    int count = -1;
    EXPECT_OK(cu::cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, function(kernel), threads,
                                                              shared_bytes));
    return count;
  };
  EXPECT_EQ(blocks("nothing", 1, 0), 32);
  EXPECT_EQ(blocks("nothing", 1024, 0), 2);
  EXPECT_EQ(blocks("nothing", 1000, 0), 2);
  EXPECT_EQ(blocks("nothing", 32, 232448), 1);
  EXPECT_EQ(blocks("nothing", 32, 100000), 2);
  EXPECT_EQ(blocks("nothing", 32, 300000), 0);
  EXPECT_EQ(blocks("bounded", 65, 0), 0);
  int count = 0;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, function("nothing"), 0, 0));
}

TEST_F(LaunchTest, EveryThreadOfEveryBlockRuns) {
  auto* const counter = shared<unsigned>();
  void* arguments[] = {const_cast<unsigned**>(&counter)};
  EXPECT_OK(cu::cuLaunchKernel(function("count_threads"), 3, 5, 2, 16, 2, 3, 0, nullptr, arguments,
                               nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*counter, 3u * 5 * 2 * 16 * 2 * 3);
}

TEST_F(LaunchTest, ArgumentsOfAllSizesArriveAsTheyWereAtTheLaunch) {
  gate closed;
  CUstream const where = stream();
  double* const to = shared<double>();
  closed.hold(where);
  {
    char a = 1;
    double b = 2.5;
    short c = 30;
    long long d = 400;
    double* out = to;
    void* arguments[] = {&a, &b, &c, &d, &out};
    EXPECT_OK(
        cu::cuLaunchKernel(function("mixed"), 1, 1, 1, 1, 1, 1, 0, where, arguments, nullptr));
    a = 0;
    b = c = 0;
    d = 0;
  }
  closed.open();
  EXPECT_OK(cu::cuStreamSynchronize(where));
  EXPECT_EQ(*to, 433.5);
}

TEST_F(LaunchTest, LargeArgumentsArriveToo) {
  int* const to = shared<int>();
  std::array<int, 100> all;
  all.fill(3);
  EXPECT_OK(launch("sum_large", nullptr, all, to));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*to, 300);
}

TEST_F(LaunchTest, ArgumentsMayBePacked) {
  int* const to = shared<int>();
  struct {
    int* to;
    int value;
  } packed{to, 12};
  std::size_t bytes = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  CUfunction const store = function("store");
  EXPECT_OK(cu::cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*to, 12);
  bytes = 4;  // fewer bytes than the parameters need
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
  void* both[] = {&packed.to, &packed.value};
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, nullptr, both, extra));
}

TEST_F(LaunchTest, MissingArgumentsAreRefused) {
  CUfunction const store = function("store");
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  int value = 0;
  void* half[] = {&value, nullptr};
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, nullptr, half, nullptr));
}

TEST_F(LaunchTest, FunctionsBelongToTheirContext) {
  CUfunction const mine = function("nothing");
  CUcontext const other = floating();
  ASSERT_OK(cu::cuCtxPushCurrent(other));
  CUstream there = nullptr;
  ASSERT_OK(cu::cuStreamCreate(&there, 0));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE,
                cu::cuLaunchKernel(mine, 1, 1, 1, 1, 1, 1, 0, there, nullptr, nullptr));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE,
                cu::cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, there, nullptr, nullptr));
  EXPECT_OK(cu::cuCtxDestroy(other));
}

TEST_F(LaunchTest, ExtendedLaunchesTakeHintsAndRefuseUnsupportedAttributes) {
  CUlaunchAttribute attribute{};
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  EXPECT_OK(cu::cuLaunchKernelEx(&config, function("nothing"), nullptr, nullptr));
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {2, 1, 1};
  EXPECT_STATUS(CUDA_ERROR_NOT_SUPPORTED,
                cu::cuLaunchKernelEx(&config, function("nothing"), nullptr, nullptr));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuLaunchKernelEx(nullptr, function("nothing"), nullptr, nullptr));
}

TEST_F(LaunchTest, CooperativeGridsHaveOneBlock) {
  CUfunction const nothing = function("nothing");
  EXPECT_OK(cu::cuLaunchCooperativeKernel(nothing, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr));
  EXPECT_STATUS(CUDA_ERROR_NOT_SUPPORTED,
                cu::cuLaunchCooperativeKernel(nothing, 2, 1, 1, 32, 1, 1, 0, nullptr, nullptr));
}

TEST_F(LaunchTest, KernelsPrintAtPointsOfSynchronisation) {
  testing::internal::CaptureStdout();
  EXPECT_OK(launch("print", nullptr, 42));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "value 42\n");
}

TEST_F(LaunchTest, AFullPrintBufferLosesTextAndNothingElse) {
  // The size is rounded up to the minimum, 512 KiB.
  EXPECT_OK(cu::cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 0));
  testing::internal::CaptureStdout();
  constexpr int many = 100000;
  for (int i = 0; i < many; ++i) { ASSERT_OK(launch("print", nullptr, 100000)); }
  EXPECT_OK(cu::cuCtxSynchronize());
  std::string const text = testing::internal::GetCapturedStdout();
  std::size_t const line = std::string("value 100000\n").size();
  EXPECT_EQ(text.size(), 524288 / line * line);
}

}  // namespace
}  // namespace flotilla::cpu_driver
