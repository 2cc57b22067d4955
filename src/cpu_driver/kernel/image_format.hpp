// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Recognises a CPU image and finds its length. Reads only ELF headers and notes.

#include <cstddef>

namespace flotilla::cpu_driver {

/// Returns the length of the CPU image at `code`. Returns 0 if `code` is not a CPU image, or has
/// another ABI version, or is for another processor. Reads at most `available` bytes, and only the
/// first four if they are not the ELF magic number.
[[nodiscard]] std::size_t cpu_image_bytes(void const* code, std::size_t available) noexcept;

}  // namespace flotilla::cpu_driver
