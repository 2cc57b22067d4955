// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requests and answers as bytes. A reader checks every length, because the other process may have
// written anything.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace flotilla::isolated {

/// Writes values into a fixed range. After a value that does not fit, `ok` is false.
class message_writer {
 public:
  explicit message_writer(std::span<std::byte> room) noexcept : room_(room) {}

  template <class Value>
  void put(Value const& value) noexcept {
    static_assert(std::is_trivially_copyable_v<Value>);
    put_bytes(&value, sizeof value);
  }
  void put_bytes(void const* from, std::size_t bytes) noexcept {
    if (std::byte* const to = take(bytes)) {
      if (bytes != 0) { std::memcpy(to, from, bytes); }
    }
  }
  void put_text(std::string_view text) noexcept {
    put(static_cast<std::uint32_t>(text.size()));
    put_bytes(text.data(), text.size());
  }
  /// Returns room for this many bytes, or null if there is too little.
  [[nodiscard]] std::byte* take(std::size_t bytes) noexcept {
    if (!ok_ || bytes > room_.size() - used_) {
      ok_ = false;
      return nullptr;
    }
    std::byte* const at = room_.data() + used_;
    used_ += bytes;
    return at;
  }
  [[nodiscard]] std::size_t size() const noexcept { return used_; }
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] std::span<std::byte const> written() const noexcept { return room_.first(used_); }

 private:
  std::span<std::byte> room_;
  std::size_t used_ = 0;
  bool ok_ = true;
};

/// Reads values. After the end, values are zero and `ok` is false.
class message_reader {
 public:
  explicit message_reader(std::span<std::byte const> from) noexcept : from_(from) {}

  template <class Value>
  [[nodiscard]] Value get() noexcept {
    static_assert(std::is_trivially_copyable_v<Value>);
    Value value{};
    std::span<std::byte const> const found = bytes(sizeof value);
    if (found.size() == sizeof value) { std::memcpy(&value, found.data(), sizeof value); }
    return value;
  }
  /// Returns the next bytes, or an empty range if there are fewer.
  [[nodiscard]] std::span<std::byte const> bytes(std::size_t count) noexcept {
    if (!ok_ || count > from_.size() - used_) {
      ok_ = false;
      return {};
    }
    std::span<std::byte const> const found = from_.subspan(used_, count);
    used_ += count;
    return found;
  }
  [[nodiscard]] std::string_view text() noexcept {
    std::span<std::byte const> const found = bytes(get<std::uint32_t>());
    return {reinterpret_cast<char const*>(found.data()), found.size()};
  }
  [[nodiscard]] bool ok() const noexcept { return ok_; }

 private:
  std::span<std::byte const> from_;
  std::size_t used_ = 0;
  bool ok_ = true;
};

}  // namespace flotilla::isolated
