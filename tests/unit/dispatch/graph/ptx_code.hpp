// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels of a PTX module, for ptx_interpreter.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "make_twins/scanner.hpp"

namespace flotilla::test {

class ptx_code {
 public:
  struct statement {
    std::string_view predicate;
    bool negated = false;
    std::string_view opcode;
    std::vector<std::string_view> operands;  // without punctuation; an address is two of them
  };
  struct kernel {
    std::map<std::string_view, std::size_t> parameters;  // their offsets in the parameter buffer
    std::vector<statement> code;
    std::map<std::string_view, std::size_t> labels;
  };

  /// @param text  must outlive this object
  explicit ptx_code(std::string_view text) : tokens_(make_twins::scan(text)) { parse(); }

  [[nodiscard]] kernel const& find(std::string_view name) const { return kernels_.at(name); }
  /// The offset of each variable in shared memory.
  [[nodiscard]] std::map<std::string_view, std::uint64_t> const& shared() const { return shared_; }
  [[nodiscard]] std::size_t shared_bytes() const { return shared_bytes_; }

 private:
  void parse() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].is(".shared")) {
        shared_[tokens_[i + 4].text] = shared_bytes_;
        shared_bytes_ += std::stoul(std::string{tokens_[i + 6].text});
      } else if (tokens_[i].is(".entry")) {
        i = parse_kernel(i);
      }
    }
  }
  std::size_t parse_kernel(std::size_t i) {
    kernel made;
    std::string_view const name = tokens_[i + 1].text;
    std::size_t offset = 0;
    for (i += 3; !tokens_[i].is("{"); ++i) {
      bool const is_name =
          tokens_[i + 1].is(",") || tokens_[i + 1].is(")") || tokens_[i + 1].is("[");
      if (tokens_[i].text.front() == '.' || !is_name) { continue; }
      if (tokens_[i].kind != make_twins::token_kind::word) { continue; }
      made.parameters[tokens_[i].text] = offset;
      offset += tokens_[i - 1].text.ends_with("32") ? 4 : 8;
      if (tokens_[i + 1].is("[")) { i += 2; }
    }
    for (++i; !tokens_[i].is("}");) {
      if (tokens_[i + 1].is(":")) {
        made.labels[tokens_[i].text] = made.code.size();
        i += 2;
      } else {
        i = parse_statement(i, made);
      }
    }
    kernels_[name] = std::move(made);
    return i;
  }
  std::size_t parse_statement(std::size_t i, kernel& in) {
    statement made;
    if (tokens_[i].is("@")) {
      made.negated = tokens_[i + 1].is("!");
      i += made.negated ? 2 : 1;
      made.predicate = tokens_[i++].text;
    }
    made.opcode = tokens_[i++].text;
    for (; !tokens_[i].is(";"); ++i) {
      bool const is_address = tokens_[i].is("[");
      if (is_address) {
        made.operands.push_back(tokens_[i + 1].text);
        made.operands.push_back(tokens_[i + 2].is("+") ? tokens_[i + 3].text : "0");
        while (!tokens_[i].is("]")) { ++i; }
      } else if (tokens_[i].kind == make_twins::token_kind::word) {
        made.operands.push_back(tokens_[i].text);
      }
    }
    if (!made.opcode.starts_with(".")) { in.code.push_back(std::move(made)); }
    return i + 1;
  }

  std::vector<make_twins::token> tokens_;
  std::map<std::string_view, kernel> kernels_;
  std::map<std::string_view, std::uint64_t> shared_;
  std::size_t shared_bytes_ = 0;
};

}  // namespace flotilla::test
