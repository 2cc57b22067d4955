// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts for formats that must be UTF-8. Labels and names of kernels can be any bytes.

#include <cstddef>
#include <string>
#include <string_view>

namespace flotilla::base {

/// Returns how many bytes the character has that begins at `at`, which is 1 to 4, or 0 if no valid
/// character begins there.
[[nodiscard]] std::size_t utf8_character_bytes(std::string_view text, std::size_t at) noexcept;

/// Returns whether the text is valid UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// Replaces each byte that is not part of a valid character with '?'. So the text keeps its length.
void make_utf8(char* text, std::size_t bytes) noexcept;
[[nodiscard]] std::string as_utf8(std::string_view text);

}  // namespace flotilla::base
