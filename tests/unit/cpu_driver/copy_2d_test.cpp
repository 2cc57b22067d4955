// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Two-dimensional copies: rows whose starts are `pitch` bytes apart.
#include <array>
#include <vector>

#include "driver_test.hpp"

namespace flotilla::cpu_driver {
namespace {

using Copy2dTest = ContextTest;

CUDA_MEMCPY2D to_device(void const* from, std::size_t from_pitch, CUdeviceptr to, std::size_t pitch,
                        std::size_t width, std::size_t height) {
  CUDA_MEMCPY2D made{};
  made.srcMemoryType = CU_MEMORYTYPE_HOST;
  made.srcHost = from;
  made.srcPitch = from_pitch;
  made.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  made.dstDevice = to;
  made.dstPitch = pitch;
  made.WidthInBytes = width;
  made.Height = height;
  return made;
}

CUDA_MEMCPY2D turned(CUDA_MEMCPY2D const& there, void* to) {
  CUDA_MEMCPY2D back{};
  back.srcMemoryType = there.dstMemoryType;
  back.srcDevice = there.dstDevice;
  back.srcPitch = there.dstPitch;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = to;
  back.dstPitch = there.srcPitch;
  back.WidthInBytes = there.WidthInBytes;
  back.Height = there.Height;
  return back;
}

TEST_F(Copy2dTest, RowsArriveAtTheirPitchAndNothingBetweenThemIsTouched) {
  CUdeviceptr memory = 0;
  std::size_t pitch = 0;
  ASSERT_OK(cu::cuMemAllocPitch(&memory, &pitch, 10, 3, 4));
  EXPECT_EQ(pitch % 512, 0u);
  EXPECT_OK(cu::cuMemsetD8(memory, 99, 3 * pitch));
  std::array<unsigned char, 30> source{};
  for (unsigned i = 0; i < source.size(); ++i) { source[i] = static_cast<unsigned char>(i + 1); }
  CUDA_MEMCPY2D const there = to_device(source.data(), 10, memory, pitch, 10, 3);
  EXPECT_OK(cu::cuMemcpy2D(&there));
  std::vector<unsigned char> all(3 * pitch);
  EXPECT_OK(cu::cuMemcpyDtoH(all.data(), memory, all.size()));
  EXPECT_EQ(all[9], 10);
  EXPECT_EQ(all[10], 99);
  EXPECT_EQ(all[pitch], 11);
  EXPECT_EQ(all[2 * pitch + 9], 30);
  std::array<unsigned char, 30> result{};
  CUDA_MEMCPY2D const back = turned(there, result.data());
  EXPECT_OK(cu::cuMemcpy2DAsync(&back, stream()));
  EXPECT_EQ(result, source);  // complete, because the host memory is pageable
}

TEST_F(Copy2dTest, OffsetsCountInBytesAndRows) {
  CUdeviceptr memory = 0;
  ASSERT_OK(cu::cuMemAlloc(&memory, 16 * 4));
  EXPECT_OK(cu::cuMemsetD8(memory, 0, 16 * 4));
  std::array<unsigned char, 2> source{7, 8};
  CUDA_MEMCPY2D wanted = to_device(source.data(), 1, memory, 16, 1, 2);
  wanted.dstXInBytes = 3;
  wanted.dstY = 2;
  EXPECT_OK(cu::cuMemcpy2DUnaligned(&wanted));
  std::array<unsigned char, 64> all{};
  EXPECT_OK(cu::cuMemcpyDtoH(all.data(), memory, all.size()));
  EXPECT_EQ(all[2 * 16 + 3], 7);
  EXPECT_EQ(all[3 * 16 + 3], 8);
}

TEST_F(Copy2dTest, CopiesThatDoNotFitAreRefusedBeforeTheFirstRow) {
  CUdeviceptr memory = 0;
  ASSERT_OK(cu::cuMemAlloc(&memory, 64));
  EXPECT_OK(cu::cuMemsetD8(memory, 0, 64));
  std::array<unsigned char, 128> source;
  source.fill(1);
  CUDA_MEMCPY2D wanted = to_device(source.data(), 16, memory, 16, 16, 5);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemcpy2D(&wanted));
  wanted = to_device(source.data(), 8, memory, 16, 16, 2);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuMemcpy2D(&wanted));
  wanted.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  wanted.srcPitch = 16;
  EXPECT_STATUS(CUDA_ERROR_NOT_SUPPORTED, cu::cuMemcpy2D(&wanted));
  std::array<unsigned char, 64> all{};
  EXPECT_OK(cu::cuMemcpyDtoH(all.data(), memory, all.size()));
  EXPECT_EQ(all[0], 0);
}

}  // namespace
}  // namespace flotilla::cpu_driver
