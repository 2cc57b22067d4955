/// Keeps each thread busy for `nanoseconds`: a task of known length. A GPU's clock advances in
/// steps of up to a microsecond.
extern "C" __global__ void spin(unsigned long long nanoseconds) {
  unsigned long long const start = flotilla_globaltimer();
  while (flotilla_globaltimer() - start < nanoseconds) {}
}
