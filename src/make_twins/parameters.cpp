// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "make_twins/parameters.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "make_twins/token_reader.hpp"

namespace flotilla::make_twins {
namespace {

/// Returns the bytes of a type, or 0 if the word is not a type of data.
std::uint32_t bytes_of(std::string_view type) {
  struct known {
    std::string_view type;
    std::uint32_t bytes;
  };
  static constexpr known types[] = {{".b8", 1},    {".u8", 1},    {".s8", 1},    {".b16", 2},
                                    {".u16", 2},   {".s16", 2},   {".f16", 2},   {".bf16", 2},
                                    {".b32", 4},   {".u32", 4},   {".s32", 4},   {".f32", 4},
                                    {".b64", 8},   {".u64", 8},   {".s64", 8},   {".f64", 8},
                                    {".b128", 16}, {".f16x2", 4}, {".bf16x2", 4}};
  auto const* const found =
      std::find_if(std::begin(types), std::end(types), [&](known k) { return k.type == type; });
  return found == std::end(types) ? 0 : found->bytes;
}

bool is_opaque(std::string_view type) {
  return type == ".texref" || type == ".samplerref" || type == ".surfref";
}

/// One declaration: `.param .align 8 .b8 name[24]`, `.param .u64 .ptr .global .align 4 name`.
struct declaration {
  token name;
  std::string_view type;
  std::uint64_t bytes = 0;
  std::uint32_t alignment = 0;
};

void read_attributes(token_reader& in, declaration& d) {
  bool of_pointee = false;  // .align after .ptr is about the memory to which the pointer points
  std::uint32_t lanes = 1;
  std::uint32_t alignment = 0;
  while (in.peek("the name of a parameter").text.starts_with('.')) {
    token const& word = in.take("an attribute");
    if (word.is(".align")) {
      std::uint32_t const value = number(in.take("an alignment"));
      if (!std::has_single_bit(value)) {
        throw malformed_ptx(word.line,
                            "the alignment " + std::to_string(value) + " is not a power of two");
      }
      if (!of_pointee) { alignment = value; }
    } else if (word.is(".ptr")) {
      of_pointee = true;
    } else if (word.is(".v2") || word.is(".v4")) {
      lanes = word.is(".v2") ? 2 : 4;
    } else if (bytes_of(word.text) != 0 || is_opaque(word.text)) {
      d.type = word.text;
    }
    // Other attributes, such as .global after .ptr, do not change the layout.
  }
  d.bytes = std::uint64_t{lanes} * bytes_of(d.type);
  d.alignment = alignment != 0 ? alignment : std::max(static_cast<std::uint32_t>(d.bytes), 1u);
}

declaration read_declaration(token_reader& in) {
  declaration d{};
  in.take_exactly(".param");
  read_attributes(in, d);
  d.name = in.take("the name of a parameter");
  if (d.name.kind != token_kind::word) {
    throw malformed_ptx(d.name.line, "a parameter has no name");
  }
  if (d.type.empty()) {
    throw malformed_ptx(d.name.line,
                        "the parameter '" + std::string(d.name.text) + "' has no known type");
  }
  while (in.sees("[")) {
    std::size_t const line = in.line();
    auto const size = in.take_brackets();
    if (size.size() != 1) { throw malformed_ptx(line, "the size of an array is not a number"); }
    d.bytes *= number(size[0]);
    if (d.bytes == 0 || d.bytes > std::numeric_limits<std::uint16_t>::max()) {
      throw malformed_ptx(
          line, "the size of the parameter '" + std::string(d.name.text) + "' is impossible");
    }
  }
  return d;
}

}  // namespace

std::vector<parameter> parse_parameters(std::span<token const> tokens) {
  std::vector<parameter> result;
  token_reader in(tokens);
  std::uint32_t end = 0;
  while (!in.at_end()) {
    if (!result.empty()) { in.take_exactly(","); }
    declaration const d = read_declaration(in);
    std::uint32_t const offset = (end + d.alignment - 1) / d.alignment * d.alignment;
    auto const bytes = static_cast<std::uint32_t>(d.bytes);
    result.push_back({d.name.text, d.type, bytes, offset});
    end = offset + bytes;
  }
  return result;
}

}  // namespace flotilla::make_twins
