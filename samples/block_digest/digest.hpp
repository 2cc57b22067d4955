// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// SHA-256 digests.

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

namespace block_digest {

struct digest {
  std::array<std::uint8_t, 32> bytes;
  bool operator==(digest const&) const = default;
};

/// Returns the digest as 64 lower-case hexadecimal digits.
[[nodiscard]] inline std::string hex(digest const& value) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * value.bytes.size());
  for (std::uint8_t const byte : value.bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace block_digest

template <>
struct std::hash<block_digest::digest> {
  std::size_t operator()(block_digest::digest const& value) const noexcept {
    std::size_t first;  // the first bytes of a digest are a good hash
    std::memcpy(&first, value.bytes.data(), sizeof first);
    return first;
  }
};
