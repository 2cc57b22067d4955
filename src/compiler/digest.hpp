// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Digests of texts, which name the entries of the cache and protect their contents.

#include <string>
#include <string_view>

namespace flotilla::compiler {

/// Returns 32 hexadecimal digits: the name-based UUID of the bytes, which is made with SHA-1.
[[nodiscard]] std::string digest_of(std::string_view bytes);

/// Collects everything that a result depends on. Each part has a label and a length, so different
/// lists of parts never have the same text.
class key_text {
 public:
  void add(std::string_view label, std::string_view value);
  template <class List>
  void add_all(std::string_view label, List const& values) {
    for (auto const& value : values) { add(label, value); }
  }
  [[nodiscard]] std::string digest() const { return digest_of(text_); }

 private:
  std::string text_;
};

}  // namespace flotilla::compiler
