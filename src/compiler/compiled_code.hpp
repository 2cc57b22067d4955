// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The result of a compilation, and its form in a file.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flotilla::compiler {

/// Another name for a kernel of the code.
struct kernel_alias {
  std::string expression;  ///< the name that the program uses, such as "scale<float>"
  std::string symbol;      ///< the name in the code

  bool operator==(kernel_alias const&) const = default;
};

struct compiled_code {
  std::string bytes;  ///< a cubin, PTX that ends with a zero byte, or a CPU image
  std::vector<kernel_alias> aliases;
  std::vector<std::string> notes;  ///< for the log: for example which kernels have no twin

  bool operator==(compiled_code const&) const = default;
};

/// Returns the code as the bytes of a file, with a checksum.
[[nodiscard]] std::string pack(compiled_code const& code);
/// Returns the code in a file. Empty if the bytes are not exactly what pack() made.
[[nodiscard]] std::optional<compiled_code> unpack(std::string_view file);

}  // namespace flotilla::compiler
