// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names in the picture of a trace.

#include <cstddef>
#include <string>
#include <string_view>

namespace tool {

/// Shortens a text to `max_characters`, at least 1. The middle is left out, and more of the end is
/// kept than of the begin, because labels such as "image 210" and "image 211" differ at their ends.
/// Bytes that are no UTF-8 become question marks.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t max_characters);

/// Writes a text for XML. Bytes that are no UTF-8 become question marks, and control characters,
/// which XML does not allow, become spaces.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace tool
