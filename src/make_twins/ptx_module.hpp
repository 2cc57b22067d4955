// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The parts of a PTX module that matter for twins.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "make_twins/scanner.hpp"

namespace flotilla::make_twins {

/// A parameter of a kernel.
struct parameter {
  std::string_view name;
  std::string_view type;  ///< for example ".u64"
  std::uint32_t bytes;    ///< 0: the type is not a type of data, for example .texref
  std::uint32_t offset;   ///< bytes from the start of the parameter buffer
};

/// An instruction or a declaration in the body of a function, without its label and its predicate.
struct statement {
  token opcode;
  std::span<token const> operands;  ///< up to the semicolon, which is not included
};

/// A function (`.func`) or a kernel (`.entry`).
struct function {
  bool is_kernel;
  std::string_view linkage;  ///< .visible, .weak, .extern, or empty
  std::string_view name;
  std::vector<parameter> parameters;     ///< only of kernels
  std::span<token const> directives;     ///< between the parameters and the body, e.g. .maxntid
  std::string_view directives_text;      ///< the same as text
  std::optional<std::string_view> body;  ///< the text between the braces; none: a declaration
  std::vector<statement> statements;     ///< of the body
  std::size_t end;  ///< offset in the text, after the closing brace or the semicolon

  [[nodiscard]] std::uint32_t parameter_bytes() const;
  [[nodiscard]] parameter const* find_parameter(std::string_view name) const;
};

struct ptx_module {
  std::string_view text;
  std::vector<token> tokens;
  std::string_view version;  ///< of the PTX language, for example "9.0"
  std::string_view target;   ///< for example "sm_90"
  bool debug = false;        ///< the module is compiled for debugging
  std::vector<function> functions;
  std::set<std::string_view> names;  ///< words outside functions: variables, for example
  /// The place in `functions` of each name and alias. A definition replaces a declaration.
  std::unordered_map<std::string_view, std::size_t> by_name;

  /// Returns the function with the name or alias; null if there is none.
  [[nodiscard]] function const* find_function(std::string_view name) const;
};

/// Reads a module. `text` must outlive it.
/// @throws malformed_ptx  The text is not PTX.
[[nodiscard]] ptx_module parse(std::string_view text);

}  // namespace flotilla::make_twins
