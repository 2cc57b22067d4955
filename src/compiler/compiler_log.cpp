// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/compiler_log.hpp"

#include <charconv>

namespace flotilla::compiler {

namespace {

/// Removes digits from the end of `text`. @return their value, or 0
std::size_t take_number_at_end(std::string_view& text) {
  std::size_t begin = text.size();
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') { --begin; }
  std::size_t value = 0;
  std::from_chars(text.data() + begin, text.data() + text.size(), value);
  text.remove_suffix(text.size() - begin);
  return value;
}

/// Reads what is before ": error". @return false if it is not a place
bool read_place(std::string_view place, first_error& into) {
  bool const has_parenthesis = place.ends_with(')');  // file(3)
  if (has_parenthesis) { place.remove_suffix(1); }
  std::size_t number = take_number_at_end(place);
  if (number == 0 || place.empty()) { return false; }
  char const before = place.back();
  place.remove_suffix(1);
  if (before != (has_parenthesis ? '(' : ':')) { return false; }
  if (!has_parenthesis) {  // file:3:7 or file:3
    std::string_view shorter = place;
    std::size_t const line = take_number_at_end(shorter);
    if (line != 0 && shorter.ends_with(':')) {
      number = line;
      place = shorter.substr(0, shorter.size() - 1);
    }
  }
  into.file = place;
  into.line = number;
  return true;
}

}  // namespace

first_error find_first_error(std::string_view log) {
  first_error found;  // without a place so far
  while (!log.empty()) {
    std::size_t const end = log.find('\n');
    std::string_view const line = log.substr(0, end);
    log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);
    // An error in a macro of the command line has no place, but a note says where the macro is.
    std::size_t const note = line.find(": note: in expansion of macro");
    if (!found.text.empty() && note != std::string_view::npos &&
        read_place(line.substr(0, note), found)) {
      return found;
    }
    for (std::string_view const mark : {": error", ": fatal error", ": catastrophic error"}) {
      std::size_t const at = line.find(mark);
      if (at == std::string_view::npos) { continue; }
      first_error next;
      std::size_t const colon = line.find(':', at + 2);
      next.text = line.substr(colon == std::string_view::npos ? at + 2 : colon + 1);
      while (next.text.starts_with(' ')) { next.text.erase(0, 1); }
      if (read_place(line.substr(0, at), next)) { return found.text.empty() ? next : found; }
      if (found.text.empty()) { found.text = line; }
    }
  }
  return found;
}

compile_error source_does_not_compile(std::string const& source, std::string log) {
  first_error first = find_first_error(log);
  std::string what = source + " does not compile";
  if (first.line != 0) {
    what = first.file + ":" + std::to_string(first.line) + ": " + first.text;
  } else if (!first.text.empty()) {
    what += ": " + first.text;
  }
  what += "\n" + log;
  while (what.ends_with('\n')) { what.pop_back(); }
  return compile_error(first.file.empty() ? source : first.file, first.line, std::move(log), what);
}

}  // namespace flotilla::compiler
