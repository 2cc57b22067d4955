// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Divides PTX into tokens.

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace flotilla::make_twins {

/// The text is not PTX that this program understands.
class malformed_ptx : public std::runtime_error {
 public:
  malformed_ptx(std::size_t line, std::string const& what)
      : std::runtime_error(what), line_(line) {}
  [[nodiscard]] std::size_t line() const noexcept { return line_; }  ///< from 1

 private:
  std::size_t line_;
};

/// A word is a name, a number, a register, a directive or an opcode with its modifiers:
/// `$L__BB0_2`, `0f3F800000`, `%ctaid.x`, `.entry`, `ld.param::entry.u64`. A string includes its
/// quotation marks. Every other character is a token of its own.
enum class token_kind { word, string, punctuation };

struct token {
  token_kind kind;
  std::string_view text;  ///< a part of the scanned text
  std::size_t line;       ///< from 1

  [[nodiscard]] bool is(std::string_view other) const noexcept { return text == other; }
};

/// Returns the tokens of `text`, without comments. `text` must outlive the tokens.
/// @throws malformed_ptx  A comment or a string has no end.
[[nodiscard]] std::vector<token> scan(std::string_view text);

}  // namespace flotilla::make_twins
