// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Divides the output of a C++ preprocessor into tokens.

#include <cstddef>
#include <string_view>
#include <vector>

namespace flotilla::compiler {

/// A word (a name or a number), a literal with its quotation marks, or one other character.
struct cpu_token {
  std::string_view text;
  std::string_view file;
  std::size_t line;  ///< from 1

  [[nodiscard]] bool is(std::string_view other) const noexcept { return text == other; }
  [[nodiscard]] bool is_name() const noexcept;
};

/// Returns the tokens without those of system headers. `preprocessed` has line markers, and must
/// outlive the tokens.
[[nodiscard]] std::vector<cpu_token> tokens_of(std::string_view preprocessed);

}  // namespace flotilla::compiler
