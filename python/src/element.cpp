// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "element.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include <flotilla/error/error.hpp>

namespace flotilla::python {

namespace {

using enum element_kind;

struct named_type {
  std::string_view name;
  element_type type;
  char const* format;
};

constexpr std::array<named_type, 14> known_types{{
    {"bool", {boolean, 1}, "?"},
    {"int8", {integer, 1}, "b"},
    {"int16", {integer, 2}, "h"},
    {"int32", {integer, 4}, "i"},
    {"int64", {integer, 8}, "q"},
    {"uint8", {natural, 1}, "B"},
    {"uint16", {natural, 2}, "H"},
    {"uint32", {natural, 4}, "I"},
    {"uint64", {natural, 8}, "Q"},
    {"float16", {real, 2}, "e"},
    {"float32", {real, 4}, "f"},
    {"float64", {real, 8}, "d"},
    {"complex64", {complex_number, 8}, "Zf"},
    {"complex128", {complex_number, 16}, "Zd"},
}};

struct c_type {
  std::string_view name;
  element_type type;
};

// The types of C++ and CUDA that kernel sources use.
constexpr std::array<c_type, 38> c_types{{
    {"bool", {boolean, 1}},
    {"char", {integer, 1}},
    {"signed char", {integer, 1}},
    {"unsigned char", {natural, 1}},
    {"short", {integer, 2}},
    {"unsigned short", {natural, 2}},
    {"int", {integer, 4}},
    {"unsigned", {natural, 4}},
    {"unsigned int", {natural, 4}},
    {"long", {integer, 8}},
    {"unsigned long", {natural, 8}},
    {"long long", {integer, 8}},
    {"unsigned long long", {natural, 8}},
    {"float", {real, 4}},
    {"double", {real, 8}},
    {"half", {real, 2}},
    {"__half", {real, 2}},
    {"std::byte", {natural, 1}},
    {"size_t", {natural, 8}},
    {"std::size_t", {natural, 8}},
    {"ptrdiff_t", {integer, 8}},
    {"std::ptrdiff_t", {integer, 8}},
    {"int8_t", {integer, 1}},
    {"int16_t", {integer, 2}},
    {"int32_t", {integer, 4}},
    {"int64_t", {integer, 8}},
    {"uint8_t", {natural, 1}},
    {"uint16_t", {natural, 2}},
    {"uint32_t", {natural, 4}},
    {"uint64_t", {natural, 8}},
    {"std::int8_t", {integer, 1}},
    {"std::int16_t", {integer, 2}},
    {"std::int32_t", {integer, 4}},
    {"std::int64_t", {integer, 8}},
    {"std::uint8_t", {natural, 1}},
    {"std::uint16_t", {natural, 2}},
    {"std::uint32_t", {natural, 4}},
    {"std::uint64_t", {natural, 8}},
}};

[[noreturn]] void refuse_type(std::string const& what) {
  std::string names;
  for (named_type const& each : known_types) {
    names.append(names.empty() ? "" : ", ").append(each.name);
  }
  throw invalid_argument(what + " is no type of an element; the types are " + names);
}

element_type find_type(std::string const& name) {
  for (named_type const& each : known_types) {
    if (each.name == name) { return each.type; }
  }
  if (name == "float") { return {real, 8}; }  // as in NumPy
  if (name == "int") { return {integer, 8}; }
  refuse_type("'" + name + "'");
}

// Python sets the locale of the user, so the functions of <cctype> would accept other letters, too.
bool is_name_part(char letter) noexcept {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '_' || letter == ':';
}
bool is_blank(char letter) noexcept { return letter == ' ' || (letter >= '\t' && letter <= '\r'); }

/// Splits a declaration into words and stars.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < text.size();) {
    if (is_name_part(text[i])) {
      std::size_t end = i;
      while (end < text.size() && is_name_part(text[end])) { ++end; }
      words.emplace_back(text.substr(i, end - i));
      i = end;
    } else {
      if (!is_blank(text[i])) { words.emplace_back(1, text[i]); }
      ++i;
    }
  }
  return words;
}

bool is_type(std::string_view name) noexcept {
  return std::any_of(c_types.begin(), c_types.end(),
                     [name](c_type const& each) { return each.name == name; });
}

/// Returns the name of the type, without the name of the parameter behind it.
std::string type_name_of(std::vector<std::string> words) {
  auto const join = [&words] {
    std::string all;
    for (std::string const& each : words) { all.append(all.empty() ? "" : " ").append(each); }
    return all;
  };
  std::string const all = join();
  if (is_type(all) || words.size() < 2) { return all; }
  words.pop_back();
  return join();
}

/// Returns the type of the elements, or an opaque type.
element_type known_type(std::string const& name) noexcept {
  auto const found = std::find_if(c_types.begin(), c_types.end(),
                                  [&name](c_type const& each) { return each.name == name; });
  return found == c_types.end() ? element_type{} : found->type;
}

/// Reads a flotilla::view such as "view<float const, 2> x".
/// @return empty  It is no view.
std::optional<parameter_type> parse_view(std::vector<std::string> const& words,
                                         std::string_view text) {
  auto const open = std::find(words.begin(), words.end(), "<");
  auto const close = std::find(words.begin(), words.end(), ">");
  bool const is_view =
      open != words.begin() && open < close && (open[-1] == "view" || open[-1] == "flotilla::view");
  if (!is_view) { return std::nullopt; }
  parameter_type made;
  made.text = std::string{text};
  made.view_rank = 1;
  auto const comma = std::find(open, close, ",");
  if (comma != close && comma + 1 != close) {
    std::string const& rank = comma[1];
    made.view_rank = rank.size() == 1 ? static_cast<std::size_t>(rank[0] - '0') : 0;
  }
  if (made.view_rank < 1 || made.view_rank > 3) {
    throw invalid_argument("the view '" + made.text + "' must have 1 to 3 dimensions");
  }
  std::vector<std::string> inner(open + 1, comma);
  made.is_read_only = std::erase(inner, "const") != 0;
  std::string name;
  for (std::string const& each : inner) { name.append(name.empty() ? "" : " ").append(each); }
  made.viewed = known_type(name);
  return made;
}

parameter_type parse_parameter(std::string_view text, std::size_t index) {
  std::vector<std::string> words = words_of(text);
  if (auto view = parse_view(words, text)) { return *view; }
  parameter_type made;
  made.text = std::string{text};
  auto const star = std::find(words.begin(), words.end(), "*");
  made.is_pointer = star != words.end();
  bool const is_const = std::find(words.begin(), star, "const") != star;
  made.is_read_only =
      made.is_pointer && is_const && std::count(words.begin(), words.end(), "*") == 1;
  bool const is_pointer_to_pointer = std::count(words.begin(), words.end(), "*") > 1;
  words.erase(star, words.end());
  words.erase(std::remove(words.begin(), words.end(), "const"), words.end());
  if (words.empty()) {
    throw invalid_argument("parameter " + std::to_string(index) + " of the kernel, '" + made.text +
                           "', has no type");
  }
  std::string const name = type_name_of(std::move(words));
  if (name.ends_with("task_status")) {
    throw invalid_argument("parameter " + std::to_string(index) +
                           " of the kernel is a task_status, which Python cannot pass");
  }
  if (!is_pointer_to_pointer) { made.element = known_type(name); }
  return made;
}

}  // namespace

std::string element_type::name() const {
  for (named_type const& each : known_types) {
    if (each.type == *this) { return std::string{each.name}; }
  }
  return "void";
}

char const* element_type::format() const noexcept {
  for (named_type const& each : known_types) {
    if (each.type == *this) { return each.format; }
  }
  return nullptr;
}

char element_type::letter() const noexcept {
  constexpr char letters[] = {'b', 'i', 'u', 'f', 'c', 'V'};
  return letters[static_cast<unsigned>(kind)];
}

element_type element_type_of(nb::handle dtype) {
  if (nb::isinstance<nb::str>(dtype)) { return find_type(nb::cast<std::string>(dtype)); }
  if (nb::getattr(dtype, "isnative", nb::none()).ptr() == Py_False) {
    refuse_type("'" + nb::cast<std::string>(nb::str(dtype)) +
                "', whose byte order is not that of this machine,");
  }
  nb::object name = nb::getattr(dtype, "name", nb::none());  // a NumPy dtype
  if (!nb::isinstance<nb::str>(name)) { name = nb::getattr(dtype, "__name__", nb::none()); }
  if (!nb::isinstance<nb::str>(name)) { refuse_type(nb::cast<std::string>(nb::repr(dtype))); }
  return find_type(nb::cast<std::string>(name));
}

element_type element_type_of(char const* format, std::size_t bytes) noexcept {
  if (format == nullptr) { return {natural, 1}; }  // as the buffer protocol defines it
  if (*format == '@' || *format == '=' || *format == '<') { ++format; }
  auto const width = static_cast<std::uint32_t>(bytes);
  if (format[0] == 'Z' && format[1] != '\0' && format[2] == '\0') {
    return {complex_number, width};
  }
  if (format[0] == '\0' || format[1] != '\0') { return {opaque, width}; }
  if (format[0] == '?') { return {boolean, width}; }
  if (std::strchr("bhilqnc", format[0]) != nullptr) { return {integer, width}; }
  if (std::strchr("BHILQN", format[0]) != nullptr) { return {natural, width}; }
  if (std::strchr("efd", format[0]) != nullptr) { return {real, width}; }
  return {opaque, width};
}

element_type element_type_of_typestr(std::string_view text) {
  element_type made;
  char const letter = text.size() < 3 ? '\0' : text[1];
  for (char const digit : text.size() < 3 ? text : text.substr(2)) {
    if (digit < '0' || digit > '9' || letter == '\0' || made.bytes > 4096) {
      throw invalid_argument("the type '" + std::string{text} + "' of an array is invalid");
    }
    made.bytes = made.bytes * 10 + static_cast<std::uint32_t>(digit - '0');
  }
  for (element_kind const each : {boolean, integer, natural, real, complex_number}) {
    if (element_type{each, 1}.letter() == letter) { made.kind = each; }
  }
  return made;
}

namespace {

/// Returns where the parameter ends that begins at `begin`: at a comma outside of <>.
std::size_t end_of_parameter(std::string_view list, std::size_t begin) noexcept {
  int depth = 0;
  for (std::size_t i = begin; i < list.size(); ++i) {
    depth += list[i] == '<' ? 1 : list[i] == '>' ? -1 : 0;
    if (list[i] == ',' && depth <= 0) { return i; }
  }
  return list.size();
}

}  // namespace

std::vector<parameter_type> parse_parameters(std::string_view list) {
  std::vector<parameter_type> made;
  if (list.find_first_not_of(" \t\n") == std::string_view::npos) { return made; }
  for (std::size_t begin = 0; begin <= list.size();) {
    std::size_t const end = end_of_parameter(list, begin);
    made.push_back(parse_parameter(list.substr(begin, end - begin), made.size()));
    begin = end + 1;
  }
  return made;
}

}  // namespace flotilla::python
