// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The attributes of a CPU device. Most values are those of an H200. An attribute that would promise
// an unsupported feature is 0.

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
inline constexpr std::size_t default_shared_bytes = 49152;  // maximum per block by default
inline constexpr std::size_t max_shared_bytes =
    232448;  // maximum per block if a function requests more than the default
inline constexpr int multiprocessors = 132;  // see multiprocessors.hpp
inline constexpr int pci_domain = 0xf107;    // chosen to differ from the domains of real machines

/// The value of the attribute `which` (a CUdevice_attribute) for device `ordinal`. Empty if `which`
/// is not an attribute.
[[nodiscard]] std::optional<int> attribute(int which, int ordinal) noexcept;

[[nodiscard]] CUuuid uuid(int ordinal) noexcept;

}  // namespace flotilla::cpu_driver::properties
