// expect: nothing.cu: error: no kernel
__device__ int f() { return 1; }
