// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The driver table: a function pointer for each entry point that flotilla uses. The pointers have
// the types of cudaTypedefs.h. A table is always passed as an argument, because one process can use
// several drivers at the same time: a GPU driver, the CPU driver, and the drivers of tests.

#include <cuda.h>
#include <cudaTypedefs.h>

#include <functional>
#include <string>

#include <flotilla/device/device.hpp>

namespace flotilla::driver {

class device_recovery;

struct table {
#define FLOTILLA_DRIVER_ENTRY(need, field, name, version, symbol) PFN_##name##_v##version field{};
#include "base/driver_entries.inc"
#undef FLOTILLA_DRIVER_ENTRY

  device_kind kind = device_kind::gpu;  // the kind of the driver's devices
  std::string origin;                   // for messages: the driver's file, or "built in"
  device_recovery* recovery = nullptr;  // if the devices are isolated; otherwise null
  // What isolated devices offer that share a runtime with the devices of this driver; or null.
  device_recovery* beside = nullptr;
  // Copies rows between the devices of two contexts (destination, source), of which at least one is
  // isolated, and waits. No entry point of CUDA does this. Null without isolated devices.
  CUresult (*copy_rows_between)(CUDA_MEMCPY2D const*, CUcontext, CUcontext, CUstream) = nullptr;
};

/// Finds an entry point by its name and ABI version (as cuGetProcAddress does) or by its symbol.
/// Returns null if the driver does not have the entry point.
using resolver = std::function<void*(char const* name, int version, char const* symbol)>;

/// Makes a table.
/// @throws no_device  A required entry point is missing. The message names the first missing one.
[[nodiscard]] table load(resolver const& find, device_kind kind, std::string origin);

}  // namespace flotilla::driver
