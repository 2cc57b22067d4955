// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "trace_names.hpp"

#include <algorithm>
#include <vector>

namespace tool {
namespace {

/// Returns the number of bytes of the UTF-8 character at the begin of a text, which is not empty; 0
/// if it is none.
std::size_t length_of_first(std::string_view text) {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char const lead = byte(0);
  std::size_t const length = lead < 0x80                    ? 1
                             : lead >= 0xc2 && lead <= 0xdf ? 2
                             : lead >= 0xe0 && lead <= 0xef ? 3
                             : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                            : 0;
  if (length > text.size()) { return 0; }
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) { return 0; }
  }
  // Too long, halves of UTF-16, and beyond the last character.
  bool const wrong =
      length > 1 && ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f) ||
                     (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f));
  // XML does not allow U+FFFE and U+FFFF.
  bool const is_none = length == 3 && lead == 0xef && byte(1) == 0xbf && byte(2) >= 0xbe;
  return wrong || is_none ? 0 : length;
}

std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> made;
  while (!text.empty()) {
    std::size_t const length = length_of_first(text);
    made.push_back(length == 0 ? std::string_view{"?"} : text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
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
