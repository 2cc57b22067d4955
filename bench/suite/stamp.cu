/// The ordinal of this device. Every context has its own copy, which the host sets.
__device__ unsigned here = 0;

/// Keeps one thread busy for `nanoseconds`, then writes the time of the end and the device.
extern "C" __global__ void stamp(unsigned long long nanoseconds, unsigned long long* when,
                                 unsigned* where) {
  unsigned long long const start = flotilla_globaltimer();
  while (flotilla_globaltimer() - start < nanoseconds) {}
  *where = here;
  *when = flotilla_globaltimer();
}
