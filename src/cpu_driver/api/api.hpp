#pragma once
// Every entry point that the CPU driver has, declared. The same sources compile twice: built in,
// these are ordinary hidden functions of this namespace and nothing is called cu* at the linker's
// level; as a drop-in (FLOTILLA_CPU_DROPIN) they are the C functions that <cuda.h> declares,
// exported.
//
// Callers of the built-in copy have to qualify the names: arguments of <cuda.h>'s types would
// otherwise find the global declarations too.

#include <cuda.h>
#include <cudaTypedefs.h>

#include <type_traits>

// <cuda.h> renames these to their successors; the lists name both.
#undef cuEventElapsedTime
#undef cuDeviceGetUuid

#ifdef FLOTILLA_CPU_DROPIN
#define FLOTILLA_CPU_API extern "C" __attribute__((visibility("default")))
#else
#define FLOTILLA_CPU_API
#endif

namespace flotilla::cpu_driver {

#define FLOTILLA_DRIVER_ENTRY(need, field, name, version, symbol) \
  FLOTILLA_CPU_API std::remove_pointer_t<PFN_##name##_v##version> symbol;
#include "cpu_driver/extra_entries.inc"
#include "driver/entries.inc"
#undef FLOTILLA_DRIVER_ENTRY

}  // namespace flotilla::cpu_driver
