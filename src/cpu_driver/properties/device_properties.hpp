#pragma once
// What a CPU device says about itself: an H200's figures where programs make decisions by them, the
// truth where those figures would promise what is not there.

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
inline constexpr std::size_t default_shared_bytes = 49152;  // a block's, without asking for more
inline constexpr std::size_t max_shared_bytes = 232448;     // a block's, for functions that ask
inline constexpr int multiprocessors = 132;  // numbers that blocks get: see multiprocessors.hpp
inline constexpr int pci_domain = 0xf107;  // no machine's own: these devices are on no bus

/// The value of a CUdevice_attribute for that device; nothing for a number that is none.
[[nodiscard]] std::optional<int> attribute(int which, int ordinal) noexcept;

[[nodiscard]] CUuuid uuid(int ordinal) noexcept;

}  // namespace flotilla::cpu_driver::properties
