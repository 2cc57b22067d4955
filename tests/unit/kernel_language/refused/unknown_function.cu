// expect: unknown_function.cu:3:[0-9]+: error: .*__nv_atomic_frobnicate
// A function that CUDA could have, but this language has not: the compiler's error names it.
extern "C" __global__ void kernel(int* p) { __nv_atomic_frobnicate(p); }
