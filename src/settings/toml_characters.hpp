// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Characters that TOML does not allow. toml++ 3.3 has undefined behaviour for some of them (found
// by tests/fuzz/settings_file.cpp), so it must not read a file that contains them.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace flotilla {

struct forbidden_character {
  std::size_t line;  // from 1
  std::string what;
};

/// Returns the first control character that a TOML file may not contain.
[[nodiscard]] std::optional<forbidden_character> find_control_character(std::string_view text);

/// Returns `text` with a '?' in place of each byte that is not ASCII. TOML allows both only in
/// strings and comments. So if the result is valid TOML, `text` has such bytes only there.
[[nodiscard]] std::string with_ascii_only(std::string_view text);

/// Returns whether the byte is not ASCII. `line` and `column` count from 1, and columns are bytes.
[[nodiscard]] bool is_beyond_ascii(std::string_view text, std::size_t line, std::size_t column);

}  // namespace flotilla
