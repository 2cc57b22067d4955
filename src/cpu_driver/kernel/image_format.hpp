#pragma once
// How long a CPU image is and whether it is one, read from its ELF headers alone.

#include <cstddef>

namespace flotilla::cpu_driver {

/// Bytes of the CPU image at `code`; 0 if there is none, or one of another ABI or processor. Reads
/// at most `available` bytes, and beyond the first four only if they are an ELF magic.
[[nodiscard]] std::size_t cpu_image_bytes(void const* code, std::size_t available) noexcept;

}  // namespace flotilla::cpu_driver
