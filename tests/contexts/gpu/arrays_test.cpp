// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// CUDA arrays and textures in contexts.
#include <channel_descriptor.h>

#include "runtime_test.hpp"

#include <array>

namespace flotilla::test {
namespace {

class ContextArrays : public runtime_test {
 protected:
  static constexpr std::size_t width = 64, height = 32;
};

// C3.14: an array that the runtime library created can be cast to CUarray and used with the driver
// API
TEST_F(ContextArrays, TheRuntimesIsTheDrivers) {
  create();
  cudaChannelFormatDesc const format = cudaCreateChannelDesc<float>();
  cudaArray_t of_runtime = nullptr;
  EXPECT_CUDART_OK(cudaMallocArray(&of_runtime, &format, width, height));
  auto const of_driver = reinterpret_cast<CUarray>(of_runtime);
  CUDA_ARRAY_DESCRIPTOR described{};
  auto const describe = entry<decltype(&cuArrayGetDescriptor)>("cuArrayGetDescriptor");
  ASSERT_NE(describe, nullptr);
  EXPECT_OK(describe(&described, of_driver));
  EXPECT_EQ(described.Width, width);
  EXPECT_EQ(described.Height, height);
  EXPECT_EQ(described.Format, CU_AD_FORMAT_FLOAT);
  EXPECT_CUDART_OK(cudaFreeArray(of_runtime));
  pop();
}

// C3.13: an array that the driver API created can be cast to cudaArray_t and used with the runtime
// library
TEST_F(ContextArrays, TheDriversIsTheRuntimes) {
  create();
  CUDA_ARRAY_DESCRIPTOR const wanted{width, height, CU_AD_FORMAT_FLOAT, 1};
  CUarray of_driver = nullptr;
  auto const make = entry<decltype(&cuArrayCreate)>("cuArrayCreate");
  auto const destroy_array = entry<decltype(&cuArrayDestroy)>("cuArrayDestroy");
  ASSERT_TRUE(make != nullptr && destroy_array != nullptr);
  EXPECT_OK(make(&of_driver, &wanted));
  auto const of_runtime = reinterpret_cast<cudaArray_t>(of_driver);
  std::array<float, width * height> from{}, to{};
  for (std::size_t i = 0; i < from.size(); ++i) { from[i] = static_cast<float>(i); }
  constexpr std::size_t row = width * sizeof(float);
  EXPECT_CUDART_OK(
      cudaMemcpy2DToArray(of_runtime, 0, 0, from.data(), row, row, height, cudaMemcpyHostToDevice));
  EXPECT_CUDART_OK(
      cudaMemcpy2DFromArray(to.data(), row, of_runtime, 0, 0, row, height, cudaMemcpyDeviceToHost));
  EXPECT_EQ(from, to);
  EXPECT_OK(destroy_array(of_driver));
  pop();
}

// C4.4: destroying a context frees its arrays
TEST_F(ContextArrays, EndWithTheirContext) {
  create();
  CUcontext const owner = create();
  pop();
  std::size_t const before = free_bytes();
  push(owner);
  cudaChannelFormatDesc const format = cudaCreateChannelDesc<float>();
  cudaArray_t large = nullptr;
  EXPECT_CUDART_OK(cudaMallocArray(&large, &format, 16384, 16384));  // 1 GiB
  EXPECT_LE(free_bytes() + (std::size_t{1} << 30), before);
  destroy(owner);
  EXPECT_GE(free_bytes(), before);
  pop();
}

// C1.4 C4.8: a texture object belongs to a context and reads arrays of that context. (The
// documentation speaks of texture references, which CUDA 12 removed.)
TEST_F(ContextArrays, TexturesReadTheArraysOfTheirContext) {
  CUcontext const owner = create();
  cudaChannelFormatDesc const format = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  EXPECT_CUDART_OK(cudaMallocArray(&array, &format, width, 1));
  std::array<float, width> from{}, to{};
  for (std::size_t i = 0; i < width; ++i) { from[i] = static_cast<float>(i) * 2; }
  constexpr std::size_t row = width * sizeof(float);
  EXPECT_CUDART_OK(
      cudaMemcpy2DToArray(array, 0, 0, from.data(), row, row, 1, cudaMemcpyHostToDevice));
  cudaResourceDesc what{};
  what.resType = cudaResourceTypeArray;
  what.res.array.array = array;
  cudaTextureDesc how{};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  how.readMode = cudaReadModeElementType;
  cudaTextureObject_t texture = 0;
  EXPECT_CUDART_OK(cudaCreateTextureObject(&texture, &what, &how, nullptr));
  pop();
  // Another thread pushes the context and reads the texture.
  elsewhere([&] {
    pushed const here{owner};
    auto* const memory = static_cast<float*>(runtime_memory(row));
    EXPECT_CUDART_OK(launch_read_texture(memory, texture, width, nullptr));
    EXPECT_CUDART_OK(cudaMemcpy(to.data(), memory, row, cudaMemcpyDeviceToHost));
  });
  EXPECT_EQ(from, to);
}

}  // namespace
}  // namespace flotilla::test
