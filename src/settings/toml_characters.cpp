// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "settings/toml_characters.hpp"

#include <algorithm>

namespace flotilla {

namespace {

bool is_control(unsigned char code) noexcept {
  constexpr unsigned char del = 0x7f;
  return (code < ' ' && code != '\t' && code != '\r' && code != '\n') || code == del;
}

bool is_beyond_ascii(char letter) noexcept { return static_cast<unsigned char>(letter) >= 0x80; }

}  // namespace

std::optional<forbidden_character> find_control_character(std::string_view text) {
  std::size_t line = 1;
  for (char const letter : text) {
    auto const code = static_cast<unsigned char>(letter);
    if (is_control(code)) {
      return {{line, "a control character with the code " + std::to_string(code) +
                         "; a settings file is text"}};
    }
    line += code == '\n' ? 1 : 0;
  }
  return std::nullopt;
}

std::string with_ascii_only(std::string_view text) {
  std::string made{text};
  std::replace_if(
      made.begin(), made.end(), [](char each) { return is_beyond_ascii(each); }, '?');
  return made;
}

bool is_beyond_ascii(std::string_view text, std::size_t line, std::size_t column) {
  for (; line > 1; --line) {
    std::size_t const end = text.find('\n');
    if (end == text.npos) { return false; }
    text.remove_prefix(end + 1);
  }
  return column >= 1 && column <= text.size() && is_beyond_ascii(text[column - 1]);
}

}  // namespace flotilla
