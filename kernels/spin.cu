/// Keeps each of its threads busy for `nanoseconds`: a task of known length. The steps of a GPU's
/// clock are up to a microsecond.
extern "C" __global__ void spin(unsigned long long nanoseconds) {
  unsigned long long const start = flotilla_globaltimer();
  while (flotilla_globaltimer() - start < nanoseconds) {}
}
