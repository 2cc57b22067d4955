// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/digest.hpp"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid.hpp>

namespace flotilla::compiler {

std::string digest_of(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  // The name space is the null UUID: the digests need no order among those of other programs.
  boost::uuids::name_generator_sha1 const generate{boost::uuids::uuid{}};
  boost::uuids::uuid const made = generate(bytes.data(), bytes.size());
  std::string text;
  for (unsigned char const byte : made) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

void key_text::add(std::string_view label, std::string_view value) {
  text_.append(label).append(1, ' ').append(std::to_string(value.size())).append(1, '\n');
  text_.append(value).append(1, '\n');
}

}  // namespace flotilla::compiler
