// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The size of a program's image in memory.

#include <cstddef>

namespace flotilla::isolated {

/// Returns the bytes of an image: a fat binary, a cubin or a CPU image (both are ELF files), or PTX
/// with a zero at its end. Reads only headers, except for PTX. Returns 0 if the header is invalid.
/// @param may_be_text  Whether devices accept PTX. If not, anything but an ELF file has 4 bytes.
[[nodiscard]] std::size_t image_bytes(void const* code, bool may_be_text) noexcept;

/// Returns the image itself: some compilers wrap it in a structure that has its address.
[[nodiscard]] void const* unwrapped_image(void const* code) noexcept;

}  // namespace flotilla::isolated
