// y = a x + y, one element a thread. Compiled for GPUs and for CPU devices alike.
extern "C" __global__ void saxpy(float a, float const* x, float* y, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { y[i] = a * x[i] + y[i]; }
}
