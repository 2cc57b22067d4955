// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.hpp"

namespace flotilla::base {

namespace {

/// What may follow the first byte of a character. The second byte has its own range, because UTF-8
/// has neither longer forms of a character than necessary, nor surrogates, nor codes above 10FFFF.
struct utf8_begin {
  std::size_t bytes;
  unsigned char second_low, second_high;
};

utf8_begin begin_of(unsigned char first) noexcept {
  if (first < 0x80) { return {1, 0, 0}; }
  if (first < 0xc2) { return {0, 0, 0}; }
  if (first < 0xe0) { return {2, 0x80, 0xbf}; }
  if (first == 0xe0) { return {3, 0xa0, 0xbf}; }
  if (first == 0xed) { return {3, 0x80, 0x9f}; }
  if (first < 0xf0) { return {3, 0x80, 0xbf}; }
  if (first == 0xf0) { return {4, 0x90, 0xbf}; }
  if (first < 0xf4) { return {4, 0x80, 0xbf}; }
  if (first == 0xf4) { return {4, 0x80, 0x8f}; }
  return {0, 0, 0};
}

}  // namespace

std::size_t utf8_character_bytes(std::string_view text, std::size_t at) noexcept {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  utf8_begin const kind = begin_of(byte(0));
  if (kind.bytes <= 1) { return kind.bytes; }
  if (kind.bytes > text.size() - at) { return 0; }
  if (byte(1) < kind.second_low || byte(1) > kind.second_high) { return 0; }
  for (std::size_t i = 2; i < kind.bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) { return 0; }
  }
  return kind.bytes;
}

bool is_utf8(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const bytes = utf8_character_bytes(text, at);
    if (bytes == 0) { return false; }
    at += bytes;
  }
  return true;
}

void make_utf8(char* text, std::size_t bytes) noexcept {
  for (std::size_t at = 0; at < bytes;) {
    std::size_t const valid = utf8_character_bytes({text, bytes}, at);
    if (valid == 0) { text[at] = '?'; }
    at += valid == 0 ? 1 : valid;
  }
}

std::string as_utf8(std::string_view text) {
  std::string made{text};
  make_utf8(made.data(), made.size());
  return made;
}

}  // namespace flotilla::base
