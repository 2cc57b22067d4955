// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Characters that TOML does not allow.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace flotilla {

struct forbidden_character {
  std::size_t line;  // from 1
  std::string what;
};

/// Returns the first character of a TOML file that is not allowed where it is: a control character,
/// or outside of strings and comments a character that is not ASCII. toml++ 3.3 has undefined
/// behaviour for some of them (found by tests/fuzz/settings_file.cpp), so do not let it read such a
/// file.
[[nodiscard]] std::optional<forbidden_character> find_forbidden_character(std::string_view text);

}  // namespace flotilla
