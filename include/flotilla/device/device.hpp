#pragma once
/// Devices, and how a runtime numbers them.

#include <compare>
#include <cstddef>
#include <string>

namespace flotilla {
inline namespace v0_1 {

/// A device of one runtime: its index in `runtime::devices()`. Not the driver's ordinal.
struct device_ordinal {
  unsigned value = 0;
  auto operator<=>(device_ordinal const&) const = default;
};

enum class device_kind { gpu, cpu };

/// The properties of a device. They do not change after the runtime has started.
struct device {
  device_ordinal ordinal;  ///< its index in `runtime::devices()`
  device_kind kind = device_kind::cpu;
  int driver_ordinal = 0;        ///< the driver's own number, from 0
  std::string name;              ///< as the driver reports it: "NVIDIA H200"
  std::string uuid;              ///< "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", or "CPU-…"
  std::string pci_id;            ///< "domain:bus:device.function"
  int numa_node = -1;            ///< the NUMA node of the nearest host memory; -1: unknown
  int multiprocessors = 0;       ///< of a CPU device: hardware threads; of a part: its own
  int part = -1;                 ///< of a green context: which part of its GPU, from 0; else -1
  std::size_t memory_bytes = 0;  ///< total device memory

  /// A device is accepted wherever its ordinal is.
  operator device_ordinal() const noexcept { return ordinal; }
};

}  // namespace v0_1
}  // namespace flotilla
