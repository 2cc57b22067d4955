// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "make_twins/token_reader.hpp"

#include <charconv>
#include <vector>

namespace flotilla::make_twins {
namespace {

char closing(std::string_view bracket) {
  return bracket == "{" ? '}' : bracket == "(" ? ')' : bracket == "[" ? ']' : '\0';
}

}  // namespace

std::size_t token_reader::line() const noexcept {
  if (tokens_.empty()) { return 1; }
  return at_end() ? tokens_.back().line : tokens_[at_].line;
}

bool token_reader::sees(std::string_view text) const noexcept {
  return !at_end() && tokens_[at_].is(text);
}

bool token_reader::sees_second(std::string_view text) const noexcept {
  return at_ + 1 < tokens_.size() && tokens_[at_ + 1].is(text);
}

token const& token_reader::peek(std::string_view wanted) const {
  if (at_end()) { fail("the text ends where " + std::string(wanted) + " should be"); }
  return tokens_[at_];
}

token const& token_reader::take(std::string_view wanted) {
  token const& next = peek(wanted);
  ++at_;
  return next;
}

token const& token_reader::take_exactly(std::string_view text) {
  token const& next = peek("'" + std::string(text) + "'");
  if (!next.is(text)) {
    fail("'" + std::string(text) + "' should be where '" + std::string(next.text) + "' is");
  }
  ++at_;
  return next;
}

bool token_reader::skip_if(std::string_view text) noexcept {
  bool const found = sees(text);
  at_ += found;
  return found;
}

void token_reader::skip_line() noexcept {
  for (std::size_t const current = line(); !at_end() && tokens_[at_].line == current;) { ++at_; }
}

std::span<token const> token_reader::take_brackets() {
  std::size_t const begin = at_;
  token const& first = peek("a bracket");
  if (closing(first.text) == '\0') {
    fail("a bracket should be where '" + std::string(first.text) + "' is");
  }
  std::vector<char> open;
  do {
    if (at_end()) {
      throw malformed_ptx(first.line, "'" + std::string(first.text) + "' is never closed");
    }
    token const& next = tokens_[at_];
    if (char const c = closing(next.text)) {
      open.push_back(c);
    } else if (next.is("}") || next.is(")") || next.is("]")) {
      if (open.empty() || open.back() != next.text[0]) {
        fail("'" + std::string(next.text) + "' closes nothing");
      }
      open.pop_back();
    }
    ++at_;
  } while (!open.empty());
  return between(begin + 1, at_ - 1);
}

std::span<token const> token_reader::between(std::size_t begin, std::size_t end) const {
  return tokens_.subspan(begin, end - begin);
}

std::uint32_t number(token const& digits) {
  std::string_view text = digits.text;
  if (text.ends_with('U')) { text.remove_suffix(1); }
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
  } else if (text.starts_with("0b") || text.starts_with("0B")) {
    base = 2;
  } else if (text.size() > 1 && text.starts_with('0')) {
    base = 8;
  }
  if (base == 16 || base == 2) { text.remove_prefix(2); }
  std::uint32_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw malformed_ptx(digits.line,
                        "'" + std::string(digits.text) + "' is not a number of 32 bits");
  }
  return value;
}

}  // namespace flotilla::make_twins
