// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "trace_names.hpp"

#include <algorithm>
#include <vector>

#include "base/utf8.hpp"

namespace tool {
namespace {

/// Splits a text into its characters. What is no UTF-8, and the two codes that XML does not
/// have, become question marks.
std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> made;
  while (!text.empty()) {
    std::size_t const bytes = flotilla::base::utf8_character_bytes(text, 0);
    std::string_view const one = text.substr(0, bytes);
    bool const is_right = bytes != 0 && one != "\xef\xbf\xbe" && one != "\xef\xbf\xbf";
    made.push_back(is_right ? one : "?");
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return made;
}

}  // namespace

std::string shortened(std::string_view text, std::size_t max_characters) {
  std::vector<std::string_view> const all = characters_of(text);
  bool const fits = all.size() <= max_characters;
  std::size_t const head = fits ? all.size() : (max_characters - 1) / 3;
  std::size_t const tail = fits ? 0 : max_characters - 1 - head;
  std::string made;
  for (std::size_t i = 0; i < head; ++i) { made += all[i]; }
  if (!fits) { made += "\u2026"; }
  for (std::size_t i = all.size() - tail; i < all.size(); ++i) { made += all[i]; }
  return made;
}

std::string escaped(std::string_view text) {
  std::string made;
  for (std::string_view const each : characters_of(text)) {
    switch (each[0]) {
      case '<': made += "&lt;"; break;
      case '>': made += "&gt;"; break;
      case '&': made += "&amp;"; break;
      case '"': made += "&quot;"; break;
      default:
        if (static_cast<unsigned char>(each[0]) < ' ') {
          made += ' ';
        } else {
          made += each;
        }
    }
  }
  return made;
}

}  // namespace tool
