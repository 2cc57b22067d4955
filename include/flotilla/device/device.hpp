#pragma once
/// Devices: what they are, and how a runtime counts them.

#include <compare>
#include <cstddef>
#include <string>

namespace flotilla {

/// A device of one runtime: its place in `runtime::devices()`, from 0. Not the driver's ordinal.
struct device_ordinal {
  unsigned value = 0;
  auto operator<=>(device_ordinal const&) const = default;
};

enum class device_kind { gpu, cpu };

/// What a device is. Filled once, when the runtime starts; nothing changes afterwards.
struct device {
  device_ordinal ordinal;        ///< its place in `runtime::devices()`
  device_kind kind = device_kind::cpu;
  int driver_ordinal = 0;        ///< the driver's own number, as `cuda:N` or `cpu:N` counts
  std::string name;              ///< the driver's words, as "NVIDIA H200"
  std::string uuid;              ///< "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", or "CPU-…"
  std::string pci_id;            ///< "domain:bus:device.function"
  int numa_node = -1;            ///< of the host memory nearest to it; -1: not known
  int multiprocessors = 0;       ///< a count; of a CPU device: hardware threads; of a part: its own
  int part = -1;                 ///< which part of its GPU, from 0, where it is a green context; else -1
  std::size_t memory_bytes = 0;  ///< bytes of device memory in all

  /// A device is accepted wherever its ordinal is.
  operator device_ordinal() const noexcept { return ordinal; }
};

}  // namespace flotilla
