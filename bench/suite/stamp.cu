/// Which device this is: every context has its own copy, and the host numbers them.
__device__ unsigned here = 0;

/// Keeps the device busy for `nanoseconds`; then says when that was over, and where. One thread.
extern "C" __global__ void stamp(unsigned long long nanoseconds, unsigned long long* when,
                                 unsigned* where) {
  unsigned long long const start = flotilla_globaltimer();
  while (flotilla_globaltimer() - start < nanoseconds) {}
  *where = here;
  *when = flotilla_globaltimer();
}
