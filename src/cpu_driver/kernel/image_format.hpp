#pragma once
// Recognises CPU images and their lengths by their ELF headers alone.

#include <cstddef>

namespace flotilla::cpu_driver {

/// The length of the CPU image at `code`; 0 if it is not a CPU image, or of another ABI or
/// processor. Reads at most `available` bytes, and only the first four unless they are an ELF
/// magic.
[[nodiscard]] std::size_t cpu_image_bytes(void const* code, std::size_t available) noexcept;

}  // namespace flotilla::cpu_driver
