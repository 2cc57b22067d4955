// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Uses the CUDA runtime library and cuBLAS inside flotilla's callables: `<<<>>>`, a `__device__`
// variable and a matrix product. All of them use the context of the task's device, no matter which
// thread runs the task.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

namespace {

constexpr int side = 256, rounds = 10, skipped = 77;

// A variable that the CUDA runtime library manages. Each context has its own copy of the variable.
__device__ int products = 0;

__global__ void count_product() { products += 1; }
__global__ void fill(float* matrix, float value) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < side * side) { matrix[i] = value; }
}

void check(cudaError_t status, char const* call) {
  if (status != cudaSuccess) {
    throw std::runtime_error{std::string{call} + ": " + cudaGetErrorString(status)};
  }
}
void check(cublasStatus_t status, char const* call) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error{std::string{call} + ": " + cublasGetStatusString(status)};
  }
}

// A cuBLAS handle and three matrices for the tasks of one device. They belong to the context of the
// device, so tasks on this device must create and destroy them.
struct device_state {
  cublasHandle_t blas = nullptr;
  float *a = nullptr, *b = nullptr, *c = nullptr;

  void create(flotilla::task_context&) {
    check(cublasCreate(&blas), "cublasCreate");
    for (float** matrix : {&a, &b, &c}) {
      check(cudaMalloc(matrix, side * side * sizeof(float)), "cudaMalloc");
    }
  }
  // Enqueues work on the task's stream and returns. The task ends when the stream has completed.
  void multiply(flotilla::task_context& context, float left, float right) {
    cudaStream_t const stream = context.stream();
    fill<<<side, side, 0, stream>>>(a, left);
    fill<<<side, side, 0, stream>>>(b, right);
    check(cudaGetLastError(), "fill<<<>>>");
    float const one = 1, zero = 0;
    check(cublasSetStream(blas, stream), "cublasSetStream");
    check(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, side, side, side, &one, a, side, b, side,
                      &zero, c, side),
          "cublasSgemm");
    count_product<<<1, 1, 0, stream>>>();
    check(cudaGetLastError(), "count_product<<<>>>");
  }
  void fetch(flotilla::task_context& context, std::vector<float>& matrix, int& counted) {
    check(cudaMemcpyAsync(matrix.data(), c, matrix.size() * sizeof(float), cudaMemcpyDeviceToHost,
                          context.stream()),
          "cudaMemcpyAsync");
    check(cudaMemcpyFromSymbolAsync(&counted, products, sizeof counted, 0, cudaMemcpyDeviceToHost,
                                    context.stream()),
          "cudaMemcpyFromSymbolAsync");
  }
  void destroy(flotilla::task_context&) {
    check(cublasDestroy(blas), "cublasDestroy");
    for (float* matrix : {a, b, c}) { check(cudaFree(matrix), "cudaFree"); }
  }
};

int run() {
  flotilla::driver_report const report = flotilla::describe_drivers();
  if (!report.gpus) {
    std::printf("mixed_api needs a GPU: %s\n", report.gpu_text.c_str());
    return skipped;
  }
  flotilla::runtime rt{{.devices = "cuda"}};
  bool all_right = true;
  for (flotilla::device const& device : rt.devices()) {
    device_state state;
    flotilla::task_options const options{.device = device};
    rt.submit([&](flotilla::task_context& context) { state.create(context); }, options).wait();
    std::vector<float> matrix(side * side);
    int counted = 0, right = 0;
    for (int round = 1; round <= rounds; ++round) {
      // Each round runs on a new thread, to show that no state belongs to a thread.
      std::async(std::launch::async, [&] {
        auto const left = static_cast<float>(round);
        auto const multiply = [&](flotilla::task_context& context) {
          state.multiply(context, left, 2.0f);
        };
        auto const fetch = [&](flotilla::task_context& context) {
          state.fetch(context, matrix, counted);
        };
        rt.submit(multiply, options).wait();
        rt.submit(fetch, options).wait();
        right +=
            std::count(matrix.begin(), matrix.end(), left * 2.0f * side) == side * side ? 1 : 0;
      }).get();
    }
    rt.submit([&](flotilla::task_context& context) { state.destroy(context); }, options).wait();
    std::printf("device %u, %s: %d of %d products right, %d counted on the device\n",
                device.ordinal.value, device.name.c_str(), right, rounds, counted);
    all_right = all_right && right == rounds && counted == rounds;
  }
  return all_right ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (std::exception const& error) {
    std::fprintf(stderr, "mixed_api: %s\n", error.what());
    return 2;
  }
}
