// expect: unknown_function.cu:3:[0-9]+: error: .*__nv_atomic_frobnicate
// A function that CUDA may have and this language does not: the compiler names it.
extern "C" __global__ void kernel(int* p) { __nv_atomic_frobnicate(p); }
