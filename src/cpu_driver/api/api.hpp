// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Declares every entry point of the CPU driver. The same sources are compiled twice: for the
// built-in copy and for the drop-in libcuda.so.1. In the built-in copy, the entry points are hidden
// functions of this namespace, and no symbol has a name that begins with "cu". In the drop-in
// (FLOTILLA_CPU_DROPIN), the entry points are the exported C functions that <cuda.h> declares.
//
// Code that calls the built-in copy must qualify the names. Otherwise argument-dependent lookup
// also finds the global declarations of <cuda.h>.

#include <cuda.h>
#include <cudaTypedefs.h>

#include <type_traits>

// <cuda.h> defines these names as macros that expand to newer versions. The lists below need the
// older versions as well.
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
#include "base/driver_entries.inc"
#include "cpu_driver/base/extra_entries.inc"
#undef FLOTILLA_DRIVER_ENTRY

}  // namespace flotilla::cpu_driver
