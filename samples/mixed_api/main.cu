// The CUDA runtime library and cuBLAS inside flotilla's callables: `<<<>>>`, a `__device__`
// variable, a matrix product, each in the context of the task's device, whichever thread runs the
// task.
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

// State of the runtime library's: one for each context, and it moves with it.
__device__ int products = 0;

__global__ void count_product() { products += 1; }
__global__ void fill(float* matrix, float value) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < side * side) { matrix[i] = value; }
}

void check(cudaError_t answer, char const* call) {
  if (answer != cudaSuccess) {
    throw std::runtime_error{std::string{call} + ": " + cudaGetErrorString(answer)};
  }
}
void check(cublasStatus_t answer, char const* call) {
  if (answer != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error{std::string{call} + ": " + cublasGetStatusString(answer)};
  }
}

// What a device's tasks share. Made and given up in tasks of that device: it belongs to their
// context.
struct station {
  cublasHandle_t blas = nullptr;
  float *a = nullptr, *b = nullptr, *c = nullptr;

  void make(flotilla::task_context&) {
    check(cublasCreate(&blas), "cublasCreate");
    for (float** each : {&a, &b, &c}) {
      check(cudaMalloc(each, side * side * sizeof(float)), "cudaMalloc");
    }
  }
  // Enqueues on the task's stream and returns: the ticket is done when the stream has passed it.
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
  void give_up(flotilla::task_context&) {
    check(cublasDestroy(blas), "cublasDestroy");
    for (float* each : {a, b, c}) { check(cudaFree(each), "cudaFree"); }
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
    station here;
    flotilla::task_options const there{.device = device};
    rt.submit([&](flotilla::task_context& context) { here.make(context); }, there).wait();
    std::vector<float> matrix(side * side);
    int counted = 0, right = 0;
    for (int round = 1; round <= rounds; ++round) {
      // A new thread each time: nothing of this is bound to one.
      std::async(std::launch::async, [&] {
        auto const left = static_cast<float>(round);
        rt.submit([&](flotilla::task_context& context) { here.multiply(context, left, 2.0f); },
                  there)
            .wait();
        rt.submit([&](flotilla::task_context& context) { here.fetch(context, matrix, counted); },
                  there)
            .wait();
        right +=
            std::count(matrix.begin(), matrix.end(), left * 2.0f * side) == side * side ? 1 : 0;
      }).get();
    }
    rt.submit([&](flotilla::task_context& context) { here.give_up(context); }, there).wait();
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
