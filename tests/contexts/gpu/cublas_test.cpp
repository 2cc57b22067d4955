// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// cuBLAS inside tasks. A cuBLAS handle belongs to the context that was current at its creation.
#include "cublas.hpp"
#include "runtime_test.hpp"

#include <optional>
#include <vector>

namespace flotilla::test {
namespace {

class CublasInContexts : public runtime_test {
 protected:
  void SetUp() override {
    runtime_test::SetUp();
    if (IsSkipped()) { return; }
    if (!blas().there()) { GTEST_SKIP() << "needs cuBLAS: " << blas().why_not(); }
  }
  static constexpr int side = 64;

  /// Multiplies two matrices on `stream`. All elements of the left matrix are `a`, and all elements
  /// of the right matrix are `b`.
  /// @return an element of the product.
  static float product(cublasHandle_t handle, CUstream stream, float a, float b) {
    constexpr std::size_t count = side * side;
    std::vector<float> const left(count, a), right(count, b);
    std::vector<float> result(count);
    auto* const memory = static_cast<float*>(runtime_memory(3 * count * sizeof(float)));
    EXPECT_CUDART_OK(cudaMemcpyAsync(memory, left.data(), count * sizeof(float),
                                     cudaMemcpyHostToDevice, stream));
    EXPECT_CUDART_OK(cudaMemcpyAsync(memory + count, right.data(), count * sizeof(float),
                                     cudaMemcpyHostToDevice, stream));
    float const one = 1, zero = 0;
    EXPECT_EQ(blas().set_stream(handle, stream), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(blas().sgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, side, side, side, &one, memory, side,
                           memory + count, side, &zero, memory + 2 * count, side),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_CUDART_OK(cudaMemcpyAsync(result.data(), memory + 2 * count, count * sizeof(float),
                                     cudaMemcpyDeviceToHost, stream));
    EXPECT_CUDART_OK(cudaStreamSynchronize(stream));
    EXPECT_CUDART_OK(cudaFree(memory));
    for (float const each : result) { EXPECT_EQ(each, result.front()); }
    return result.front();
  }
};

// S1.2: a cuBLAS handle that a task creates works in later tasks of the device, on any thread. No
// primary context is created
TEST_F(CublasInContexts, AHandleServesEveryTaskOfItsDevice) {
  runtime rt{{.devices = device_spec(1), .workers = 2}};
  cublasHandle_t handle = nullptr;
  rt.submit([&](task_context&) {
      EXPECT_EQ(blas().create(&handle), CUBLAS_STATUS_SUCCESS);
    }).wait();
  for (int i = 1; i <= 5; ++i) {
    std::jthread{[&] {
      rt.submit([&](task_context& context) {
          EXPECT_EQ(product(handle, context.stream(), static_cast<float>(i), 2),
                    static_cast<float>(2 * i * side));
        }).wait();
    }}.join();
  }
  rt.submit([&](task_context&) {
      EXPECT_EQ(blas().destroy(handle), CUBLAS_STATUS_SUCCESS);
    }).wait();
  EXPECT_EQ(primary().active, 0);
}

// S1.2 C3.10: a cuBLAS handle works on another thread if that thread pushes the handle's context
TEST_F(CublasInContexts, AHandleTravelsWithItsContext) {
  CUcontext const mine = create();
  cublasHandle_t handle = nullptr;
  EXPECT_EQ(blas().create(&handle), CUBLAS_STATUS_SUCCESS);
  pop();
  elsewhere([&] {
    pushed const here{mine};
    EXPECT_EQ(product(handle, stream(), 3, 4), 12.0f * side);
    EXPECT_EQ(blas().destroy(handle), CUBLAS_STATUS_SUCCESS);
  });
  EXPECT_EQ(primary().active, 0);
}

}  // namespace
}  // namespace flotilla::test
