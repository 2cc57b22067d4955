// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The addresses that an owner and its workers agree on. A pointer means the same in all of them.

#include <cstddef>
#include <cstdint>

namespace flotilla::isolated {

inline constexpr int max_devices = 64;

// The ranges are far from where Linux places programs, libraries, heaps and stacks. ThreadSanitizer
// allows only low addresses.
#if defined(__SANITIZE_THREAD__)
inline constexpr std::uintptr_t host_base = 0x4'0000'0000;
inline constexpr std::size_t host_bytes = std::size_t{16} << 30;
inline constexpr std::uintptr_t device_base = 0x10'0000'0000;
inline constexpr std::size_t device_bytes = std::size_t{4} << 30;
#else
inline constexpr std::uintptr_t host_base = 0x1800'0000'0000;
inline constexpr std::size_t host_bytes = std::size_t{256} << 30;
inline constexpr std::uintptr_t device_base = 0x2000'0000'0000;
inline constexpr std::size_t device_bytes = std::size_t{512} << 30;
#endif

/// The range of a device's memory.
[[nodiscard]] constexpr std::uintptr_t device_start(int ordinal) noexcept {
  return device_base + static_cast<std::size_t>(ordinal) * device_bytes;
}
[[nodiscard]] constexpr bool is_host_address(std::uintptr_t address) noexcept {
  return address - host_base < host_bytes;
}
[[nodiscard]] constexpr bool is_device_address(std::uintptr_t address) noexcept {
  return address - device_base < device_bytes * max_devices;
}
/// The device of an address for which is_device_address() is true.
[[nodiscard]] constexpr int device_of_address(std::uintptr_t address) noexcept {
  return static_cast<int>((address - device_base) / device_bytes);
}

}  // namespace flotilla::isolated
