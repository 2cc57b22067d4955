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
  /// Returns the driver function `name`. flotilla's own table of driver functions has no array
  /// functions, so the test asks the runtime library for the function's address.
  template <class Function>
  static Function entry(char const* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult how{};
    EXPECT_CUDART_OK(
        cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &how));
    EXPECT_EQ(how, cudaDriverEntryPointSuccess) << name;
    return reinterpret_cast<Function>(found);
  }
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
  EXPECT_OK(
      (entry<decltype(&cuArrayGetDescriptor)>("cuArrayGetDescriptor"))(&described, of_driver));
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
  EXPECT_OK((entry<decltype(&cuArrayCreate)>("cuArrayCreate"))(&of_driver, &wanted));
  auto const of_runtime = reinterpret_cast<cudaArray_t>(of_driver);
  std::array<float, width * height> from{}, to{};
  for (std::size_t i = 0; i < from.size(); ++i) { from[i] = static_cast<float>(i); }
  constexpr std::size_t row = width * sizeof(float);
  EXPECT_CUDART_OK(
      cudaMemcpy2DToArray(of_runtime, 0, 0, from.data(), row, row, height, cudaMemcpyHostToDevice));
  EXPECT_CUDART_OK(
      cudaMemcpy2DFromArray(to.data(), row, of_runtime, 0, 0, row, height, cudaMemcpyDeviceToHost));
  EXPECT_EQ(from, to);
  EXPECT_OK((entry<decltype(&cuArrayDestroy)>("cuArrayDestroy"))(of_driver));
  pop();
}

// C4.4: destroying a context frees its arrays
TEST_F(ContextArrays, EndWithTheirContext) {
  create();
  CUcontext const owner = create();
  pop();
  std::size_t before = 0, during = 0, after = 0, total = 0;
  EXPECT_OK(cu().mem_get_info(&before, &total));
  push(owner);
  cudaChannelFormatDesc const format = cudaCreateChannelDesc<float>();
  cudaArray_t large = nullptr;
  EXPECT_CUDART_OK(cudaMallocArray(&large, &format, 16384, 16384));  // 1 GiB
  EXPECT_OK(cu().mem_get_info(&during, &total));
  EXPECT_LE(during + (std::size_t{1} << 30), before);
  destroy(owner);
  EXPECT_OK(cu().mem_get_info(&after, &total));
  EXPECT_GE(after, before);
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
