// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu_tokens.hpp"

#include <charconv>
#include <string>

namespace flotilla::compiler {

namespace {

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 128;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns the length of the literal that begins at `text` with a quotation mark.
std::size_t literal_length(std::string_view text) {
  char const quote = text.front();
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote || text[i] == '\n') {
      return i + 1;
    }
  }
  return text.size();
}

/// Returns the length of the raw literal `R"x(...)x"` without the R.
std::size_t raw_literal_length(std::string_view text) {
  std::size_t const open = text.find('(');
  if (open == std::string_view::npos) { return text.size(); }
  std::string const end = ")" + std::string{text.substr(1, open - 1)} + "\"";
  std::size_t const at = text.find(end, open);
  return at == std::string_view::npos ? text.size() : at + end.size();
}

std::size_t word_length(std::string_view text) {
  bool const number = is_digit(text.front());
  std::size_t i = 1;
  while (i < text.size() && (begins_name(text[i]) || is_digit(text[i]) ||
                             (number && (text[i] == '.' || text[i] == '\'')))) {
    ++i;
  }
  return i;
}

class tokenizer {
 public:
  explicit tokenizer(std::string_view text) : rest_(text) {}

  std::vector<cpu_token> run() {
    while (!rest_.empty()) { step(); }
    return std::move(made_);
  }

 private:
  void step() {
    char const c = rest_.front();
    if (at_line_begin_ && rest_.starts_with("# ")) { return read_marker(); }
    if (c == '\n') {
      ++line_;
      at_line_begin_ = true;
      rest_.remove_prefix(1);
      return;
    }
    at_line_begin_ = false;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      rest_.remove_prefix(1);
    } else if (c == '"' && ends_with_raw_prefix()) {
      add(raw_literal_length(rest_));
    } else if (c == '"' || c == '\'') {
      add(literal_length(rest_));
    } else {
      add(begins_name(c) || is_digit(c) ? word_length(rest_) : 1);
    }
  }

  [[nodiscard]] bool ends_with_raw_prefix() const {
    return previous_end_ == rest_.data() && previous_.ends_with('R');
  }

  /// A marker is: # line "file" flags. Flag 3 means a system header.
  void read_marker() {
    std::size_t const end = std::min(rest_.find('\n'), rest_.size());
    std::string_view marker = rest_.substr(2, end - 2);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    std::from_chars(marker.data(), marker.data() + marker.size(), line_);
    std::size_t const open = marker.find('"');
    std::size_t const close = marker.rfind('"');
    if (open == std::string_view::npos || close <= open) { return; }
    file_ = marker.substr(open + 1, close - open - 1);
    bool const is_system = marker.find(" 3", close) != std::string_view::npos;
    is_wanted_ = !is_system && !file_.starts_with('<');
  }

  void add(std::size_t length) {
    std::string_view const text = rest_.substr(0, length);
    if (is_wanted_) { made_.push_back({text, file_, line_}); }
    for (char const c : text) { line_ += c == '\n' ? 1 : 0; }
    previous_ = text;
    rest_.remove_prefix(length);
    previous_end_ = rest_.data();
  }

  std::string_view rest_;
  std::string_view file_;
  std::string_view previous_;
  char const* previous_end_ = nullptr;
  std::size_t line_ = 1;
  bool at_line_begin_ = true;
  bool is_wanted_ = true;
  std::vector<cpu_token> made_;
};

}  // namespace

bool cpu_token::is_name() const noexcept { return begins_name(text.front()); }

std::vector<cpu_token> tokens_of(std::string_view preprocessed) {
  return tokenizer{preprocessed}.run();
}

}  // namespace flotilla::compiler
