// Launches from the device: relocatable code, linked with the device runtime.
#include "runtime_kernels.hpp"

namespace flotilla::test {
namespace {

__global__ void child(unsigned long long nanoseconds) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do { asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); } while (now - begin < nanoseconds);
}

__global__ void start_children(int children, int* failed, int* first_error) {
  for (int i = 0; i < children; ++i) {
    child<<<1, 1>>>(1000);
    cudaError_t const answer = cudaGetLastError();
    if (answer == cudaSuccess) { continue; }
    if (*failed == 0) { *first_error = static_cast<int>(answer); }
    ++*failed;
  }
}

}  // namespace

cudaError_t launch_children(int children, int* failed, int* first_error, cudaStream_t stream) {
  start_children<<<1, 1, 0, stream>>>(children, failed, first_error);
  return cudaGetLastError();
}

}  // namespace flotilla::test
