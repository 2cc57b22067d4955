// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads tokens one after another, with errors that name the line.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "make_twins/scanner.hpp"

namespace flotilla::make_twins {

class token_reader {
 public:
  explicit token_reader(std::span<token const> tokens) : tokens_(tokens) {}

  [[nodiscard]] bool at_end() const noexcept { return at_ == tokens_.size(); }
  [[nodiscard]] std::size_t position() const noexcept { return at_; }
  /// The line of the next token. At the end, the line of the last one.
  [[nodiscard]] std::size_t line() const noexcept;
  /// Whether the next token is `text`.
  [[nodiscard]] bool sees(std::string_view text) const noexcept;
  /// Whether the token after the next one is `text`.
  [[nodiscard]] bool sees_second(std::string_view text) const noexcept;
  /// The next token. `wanted` says in words what should be there.
  [[nodiscard]] token const& peek(std::string_view wanted) const;
  /// Returns the next token and moves past it.
  token const& take(std::string_view wanted);
  /// Moves past the next token, which must be `text`.
  token const& take_exactly(std::string_view text);
  /// Moves past the next token if it is `text`, and returns whether it was.
  bool skip_if(std::string_view text) noexcept;
  /// Moves past the tokens in the same line as the next token.
  void skip_line() noexcept;
  /// Moves past a pair of brackets, which the next token must open, and everything between them.
  /// Returns the tokens between the brackets.
  std::span<token const> take_brackets();
  /// The tokens from `begin` to `end`, which are positions.
  [[nodiscard]] std::span<token const> between(std::size_t begin, std::size_t end) const;

  [[noreturn]] void fail(std::string const& what) const { throw malformed_ptx(line(), what); }

 private:
  std::span<token const> tokens_;
  std::size_t at_ = 0;
};

/// Returns the value of an integer of PTX (decimal, octal, hexadecimal or binary).
/// @throws malformed_ptx  The token is not such a number, or it is above 2^32 - 1.
[[nodiscard]] std::uint32_t number(token const& digits);

}  // namespace flotilla::make_twins
