// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Kernels that are launched with `<<<>>>`, and a `__device__` variable, as in a typical CUDA
// application.
#include "runtime_kernels.hpp"

namespace flotilla::test {
namespace {

__device__ int state = 7;

__global__ void put(int* where, int value) { *where = value; }
__global__ void axpy(float a, float const* x, float* y, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) { y[i] = a * x[i] + y[i]; }
}
__global__ void put_state(int value) { state = value; }
__global__ void take_state(int* to) { *to = state; }
__global__ void hold(unsigned volatile* words) {
  words[0] = 1;
  __threadfence_system();
  while (words[1] == 0) { __nanosleep(1000); }
}
__global__ void read_texture(float* out, cudaTextureObject_t from, int count) {
  for (int i = 0; i < count; ++i) {
    out[i] = tex2D<float>(from, static_cast<float>(i) + 0.5f, 0.5f);
  }
}
__global__ void write_surface(cudaSurfaceObject_t to, int count, float value) {
  for (int i = 0; i < count; ++i) {
    surf2Dwrite(value + static_cast<float>(i), to, i * static_cast<int>(sizeof(float)), 0);
  }
}

}  // namespace

cudaError_t launch_put(int* where, int value, cudaStream_t stream) {
  put<<<1, 1, 0, stream>>>(where, value);
  return cudaGetLastError();
}
cudaError_t launch_axpy(float a, float const* x, float* y, int n, cudaStream_t stream) {
  axpy<<<static_cast<unsigned>(n + 255) / 256, 256, 0, stream>>>(a, x, y, n);
  return cudaGetLastError();
}
void const* axpy_symbol() { return reinterpret_cast<void const*>(axpy); }
cudaError_t launch_put_state(int value, cudaStream_t stream) {
  put_state<<<1, 1, 0, stream>>>(value);
  return cudaGetLastError();
}
cudaError_t launch_take_state(int* to, cudaStream_t stream) {
  take_state<<<1, 1, 0, stream>>>(to);
  return cudaGetLastError();
}
cudaError_t address_of_state(void** address) { return cudaGetSymbolAddress(address, state); }
cudaError_t launch_hold(unsigned* words, cudaStream_t stream) {
  hold<<<1, 1, 0, stream>>>(words);
  return cudaGetLastError();
}
cudaError_t launch_read_texture(float* out, cudaTextureObject_t from, int count,
                                cudaStream_t stream) {
  read_texture<<<1, 1, 0, stream>>>(out, from, count);
  return cudaGetLastError();
}
cudaError_t launch_write_surface(cudaSurfaceObject_t to, int count, float value,
                                 cudaStream_t stream) {
  write_surface<<<1, 1, 0, stream>>>(to, count, value);
  return cudaGetLastError();
}

}  // namespace flotilla::test
