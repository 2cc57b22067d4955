#pragma once
// The attributes of a CPU device. Where programs base decisions on an attribute, it has an H200's
// value, unless that value would promise a feature that a CPU device does not have.

#include <cuda.h>

#include <cstddef>
#include <optional>

namespace flotilla::cpu_driver::properties {

inline constexpr int driver_version = 13000;
inline constexpr unsigned api_version = 3020;
inline constexpr char const* name = "flotilla CPU device";
inline constexpr int max_threads_per_block = 1024;
inline constexpr int max_block_x = 1024;
inline constexpr int max_block_y = 1024;
inline constexpr int max_block_z = 64;
inline constexpr unsigned max_grid_x = 2147483647;
inline constexpr unsigned max_grid_y = 65535;
inline constexpr unsigned max_grid_z = 65535;
inline constexpr std::size_t default_shared_bytes = 49152;  // of a block, by default
inline constexpr std::size_t max_shared_bytes =
    232448;                                  // of a block, for functions that request it
inline constexpr int multiprocessors = 132;  // see multiprocessors.hpp
inline constexpr int pci_domain = 0xf107;    // used by no real machine

/// The value of a CUdevice_attribute for that device; empty if the number is not an attribute.
[[nodiscard]] std::optional<int> attribute(int which, int ordinal) noexcept;

[[nodiscard]] CUuuid uuid(int ordinal) noexcept;

}  // namespace flotilla::cpu_driver::properties
