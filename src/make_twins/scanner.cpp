// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "make_twins/scanner.hpp"

#include <algorithm>
#include <utility>

namespace flotilla::make_twins {
namespace {

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%' || c == '.';
}

class scanner {
 public:
  explicit scanner(std::string_view text) : text_(text) {}

  std::vector<token> run() {
    while (at_ < text_.size()) { step(); }
    return std::move(tokens_);
  }

 private:
  void step() {
    char const c = text_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
    } else if (starts("//") || c == '#') {  // `#` begins a line of a preprocessor
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (starts("/*")) {
      skip_comment();
    } else if (c == '"') {
      add(token_kind::string, end_of_string());
    } else if (is_word_character(c)) {
      add(token_kind::word, end_of_word());
    } else {
      add(token_kind::punctuation, at_ + 1);
    }
  }

  bool starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  void add(token_kind kind, std::size_t end) {
    tokens_.push_back({kind, text_.substr(at_, end - at_), line_});
    at_ = end;
  }

  void skip_comment() {
    std::size_t const end = text_.find("*/", at_ + 2);
    if (end == std::string_view::npos) { throw malformed_ptx(line_, "the comment has no end"); }
    for (; at_ < end + 2; ++at_) { line_ += text_[at_] == '\n'; }
  }

  std::size_t end_of_string() const {
    for (std::size_t i = at_ + 1; i < text_.size() && text_[i] != '\n'; ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (text_[i] == '"') {
        return i + 1;
      }
    }
    throw malformed_ptx(line_, "the string has no end");
  }

  std::size_t end_of_word() const {
    std::size_t i = at_;
    while (i < text_.size()) {
      if (is_word_character(text_[i])) {
        ++i;
      } else if (text_.substr(i).starts_with("::") && i + 2 < text_.size() &&
                 is_word_character(text_[i + 2])) {
        i += 2;  // as in `ld.param::entry`
      } else {
        break;
      }
    }
    return i;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::vector<token> tokens_;
};

}  // namespace

std::vector<token> scan(std::string_view text) { return scanner(text).run(); }

}  // namespace flotilla::make_twins
