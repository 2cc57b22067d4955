// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "byte_order.hpp"

#include <bit>
#include <cstring>

namespace flotilla::python {

bool has_foreign_order(std::string_view format) noexcept {
  constexpr bool is_little = std::endian::native == std::endian::little;
  bool is_foreign = false;
  bool is_name = false;  // of a member of a struct
  for (char const letter : format) {
    if (letter == ':') { is_name = !is_name; }
    if (is_name) { continue; }
    if (letter == '>' || letter == '!') {
      is_foreign = is_little;
    } else if (letter == '<') {
      is_foreign = !is_little;
    } else if (letter == '@' || letter == '=' || letter == '^') {
      is_foreign = false;
    } else if (is_foreign && std::strchr("hHiIlLqQnNefdgZwuOP", letter) != nullptr) {
      return true;  // other letters are types of one byte, or no types
    }
  }
  return false;
}

bool has_foreign_order_typestr(std::string_view text) noexcept {
  constexpr char foreign = std::endian::native == std::endian::little ? '>' : '<';
  return text.size() > 2 && text[0] == foreign && text.substr(2) != "1";
}

}  // namespace flotilla::python
