#pragma once
// The driver table: every entry point that flotilla uses, as function pointers with the driver's
// own signatures. It is passed as an argument and never global, so that one process can use a GPU
// driver and the CPU driver at the same time, and tests can use any other.

#include <cuda.h>
#include <cudaTypedefs.h>

#include <functional>
#include <string>

#include <flotilla/device/device.hpp>

namespace flotilla::driver {

struct table {
#define FLOTILLA_DRIVER_ENTRY(need, field, name, version, symbol) PFN_##name##_v##version field{};
#include "base/driver_entries.inc"
#undef FLOTILLA_DRIVER_ENTRY

  device_kind kind = device_kind::gpu;  // the kind of its devices
  std::string origin;                   // for messages: the file, or "built in"
};

/// Finds an entry point by name and ABI version, as cuGetProcAddress does, or by the symbol of that
/// ABI. Returns null if there is none.
using resolver = std::function<void*(char const* name, int version, char const* symbol)>;

/// Fills a table.
/// @throws no_device  naming the first required entry point that `find` does not find.
[[nodiscard]] table load(resolver const& find, device_kind kind, std::string origin);

}  // namespace flotilla::driver
