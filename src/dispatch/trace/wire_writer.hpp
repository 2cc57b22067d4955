// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes fields of small protobuf messages. protozero checks more, and needs three times as long.

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/utf8.hpp"

namespace flotilla::dispatch {

/// Writes to memory that has room for everything that is written. The names of the functions are
/// those of the kinds of fields.
class wire_writer {
 public:
  explicit wire_writer(char* to) noexcept : next_{to} {}

  template <class Field>
  void number(Field field, std::uint64_t value) noexcept {
    tag(field, 0);
    plain_number(value);
  }
  template <class Field>
  void fixed64(Field field, std::uint64_t value) noexcept {
    tag(field, 1);
    std::memcpy(next_, &value, sizeof value);
    next_ += sizeof value;
  }
  /// A text must be UTF-8. Bytes that are not become '?'.
  template <class Field>
  void text(Field field, std::string_view value) noexcept {
    tag(field, length_delimited);
    plain_number(value.size());
    std::memcpy(next_, value.data(), value.size());
    base::make_utf8(next_, value.size());
    next_ += value.size();
  }
  /// Begins a message of any length, which the caller writes next.
  template <class Field>
  void begin(Field field, std::uint64_t length) noexcept {
    tag(field, length_delimited);
    plain_number(length);
  }
  /// Writes a message of less than 128 bytes, which `write()` writes.
  template <class Field, class Write>
  void message(Field field, Write const& write) noexcept {
    tag(field, length_delimited);
    char* const length = next_++;
    write();
    *length = static_cast<char>(next_ - length - 1);
  }
  template <class Field>
  void tag(Field field, unsigned wire_type) noexcept {
    plain_number(static_cast<std::uint64_t>(field) << 3 | wire_type);
  }
  /// Where the next byte comes.
  [[nodiscard]] char*& next() noexcept { return next_; }

 private:
  static constexpr unsigned length_delimited = 2;
  void plain_number(std::uint64_t value) noexcept {
    for (; value >= 0x80; value >>= 7) { *next_++ = static_cast<char>(value | 0x80); }
    *next_++ = static_cast<char>(value);
  }

  char* next_;
};

}  // namespace flotilla::dispatch
