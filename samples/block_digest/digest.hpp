// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// SHA-256 digests.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace block_digest {

struct digest {
  std::array<std::uint8_t, 32> bytes;
  bool operator==(digest const&) const = default;
};

/// Appends the digest as 64 lower-case hexadecimal digits.
inline void append_hex(std::string& to, digest const& value) {
  constexpr char digits[] = "0123456789abcdef";
  std::array<char, 64> text;
  for (std::size_t i = 0; i < value.bytes.size(); ++i) {
    text[2 * i] = digits[value.bytes[i] >> 4];
    text[2 * i + 1] = digits[value.bytes[i] & 15];
  }
  to.append(text.data(), text.size());
}

}  // namespace block_digest
