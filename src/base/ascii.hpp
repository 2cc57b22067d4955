// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Questions about characters that do not depend on the locale of the program, unlike those of
// <cctype>.

namespace flotilla::base {

[[nodiscard]] constexpr bool is_blank(char each) noexcept {
  return each == ' ' || (each >= '\t' && each <= '\r');
}

/// Returns the small letter of a letter from A to Z. Returns other characters as they are.
[[nodiscard]] constexpr char to_lower(char each) noexcept {
  return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
}

}  // namespace flotilla::base
