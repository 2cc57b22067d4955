// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "settings/toml_characters.hpp"

namespace flotilla {

namespace {

/// Follows a TOML file and knows whether it is inside a string or a comment. What is not valid TOML
/// may be taken for either; toml++ refuses it.
class position {
 public:
  /// @param rest  The rest of the file. @return how many bytes belong together.
  std::size_t advance(std::string_view rest) noexcept {
    if (in_comment_) {
      in_comment_ = rest[0] != '\n';
      return 1;
    }
    if (quote_.empty()) { return begin(rest); }
    if (quote_[0] == '"' && rest[0] == '\\') { return rest.size() > 1 ? 2 : 1; }
    if (rest.starts_with(quote_)) {
      std::size_t const bytes = quote_.size();
      quote_ = {};
      return bytes;
    }
    // A string of one line ends with the line.
    if (rest[0] == '\n' && quote_.size() == 1) { quote_ = {}; }
    return 1;
  }
  /// Returns whether the next character is outside of strings and comments.
  [[nodiscard]] bool is_outside() const noexcept { return !in_comment_ && quote_.empty(); }

 private:
  std::size_t begin(std::string_view rest) noexcept {
    for (std::string_view const each : {R"(""")", "'''", R"(")", "'"}) {
      if (rest.starts_with(each)) {
        quote_ = each;
        return each.size();
      }
    }
    in_comment_ = rest[0] == '#';
    return 1;
  }

  bool in_comment_ = false;
  std::string_view quote_;  // of the string that is open; empty: none
};

bool is_control(unsigned char code) noexcept {
  constexpr unsigned char del = 0x7f;
  return (code < ' ' && code != '\t' && code != '\r' && code != '\n') || code == del;
}

}  // namespace

std::optional<forbidden_character> find_forbidden_character(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  position at;
  std::size_t line = 1;
  std::size_t next = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
  while (next < text.size()) {
    bool const is_outside = at.is_outside();
    std::size_t const end = next + at.advance(text.substr(next));
    for (; next < end; ++next) {
      auto const code = static_cast<unsigned char>(text[next]);
      if (is_control(code)) {
        return {{line, "a control character with the code " + std::to_string(code) +
                           "; a settings file is text"}};
      }
      if (is_outside && code >= 0x80) {
        return {{line, "a character that is not ASCII, outside of strings and comments"}};
      }
      line += code == '\n' ? 1 : 0;
    }
  }
  return std::nullopt;
}

}  // namespace flotilla
