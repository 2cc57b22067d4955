#pragma once
/// Faults, delays and memory pressure on CPU devices, for tests of flotilla and of programs that use it.

#include <string_view>

#include <flotilla/export.hpp>

namespace flotilla {

/// Adds what `spec` says to what the process's CPU driver does from now on; the environment's
/// FLOTILLA_CPU_INJECT says the same at its start. Parts with commas between:
///
///   slow=DEVICE:FACTOR            kernels on that CPU device take FACTOR times as long
///   delay=ENTRY:MICROSECONDS      every call of that driver entry takes so much longer
///   fail=ENTRY@N:STATUS           the N-th call from now (1 is the next) answers STATUS and does nothing
///   fault=DEVICE@N:STATUS         the N-th kernel from now on that device faults: the driver is poisoned
///   capacity=DEVICE:BYTES         so much memory (with KiB, MiB or GiB)
///
/// as in "slow=1:5,fail=cuLaunchKernel@10:CUDA_ERROR_OUT_OF_MEMORY".
/// @throws invalid_argument  naming the part that is wrong. Nothing was added.
/// Threads: any. Has no effect on GPUs.
FLOTILLA_EXPORT void inject(std::string_view spec);

/// Takes all of it back, the environment's too.
FLOTILLA_EXPORT void clear_injection();

}  // namespace flotilla
