// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A second instance of CUDA's runtime library: the shared library, opened with dlopen beside the
// static library that is linked into the tests.

#include <cuda_runtime_api.h>

#include "opened_library.hpp"

#ifndef FLOTILLA_TEST_CUDART
#define FLOTILLA_TEST_CUDART "libcudart.so"
#endif

namespace flotilla::test {

class second_runtime : public opened_library {
 public:
  second_runtime()
      : opened_library{
            {"libcudart.so.13", "libcudart.so.12", "libcudart.so", FLOTILLA_TEST_CUDART}} {
    take(allocate, "cudaMalloc");
    take(free, "cudaFree");
    take(fill, "cudaMemset");
    take(reset, "cudaDeviceReset");
    take(synchronize, "cudaDeviceSynchronize");
    if (there() && allocate == static_cast<decltype(allocate)>(&cudaMalloc)) {
      refuse("the shared library is the same instance as the static library");
    }
  }

  cudaError_t (*allocate)(void**, std::size_t) = nullptr;
  cudaError_t (*free)(void*) = nullptr;
  cudaError_t (*fill)(void*, int, std::size_t) = nullptr;
  cudaError_t (*reset)() = nullptr;
  cudaError_t (*synchronize)() = nullptr;
};

inline second_runtime const& other_runtime() {
  static second_runtime const opened;
  return opened;
}

}  // namespace flotilla::test
