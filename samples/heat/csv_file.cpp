// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "csv_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace heat {

namespace {

/// The file and the line of an error.
struct line_place {
  std::string const& path;
  std::size_t line = 0;
  [[noreturn]] void refuse(std::string const& why) const {
    throw std::runtime_error(path + ", line " + std::to_string(line) + why);
  }
};

std::string_view without_spaces(std::string_view text) {
  constexpr char const* spaces = " \t\r";
  std::size_t const begin = text.find_first_not_of(spaces);
  if (begin == std::string_view::npos) { return {}; }
  return text.substr(begin, text.find_last_not_of(spaces) - begin + 1);
}

float number_in(std::string_view text, std::size_t column, line_place const& at) {
  float value = 0;
  auto const [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  auto const refuse = [&](char const* why) {
    at.refuse(", column " + std::to_string(column) + ": '" + std::string{text} + "' " + why);
  };
  if (status == std::errc::result_out_of_range) {
    refuse("is out of the range of a 32-bit floating-point number");
  }
  if (status != std::errc{} || end != text.data() + text.size()) { refuse("is not a number"); }
  if (!std::isfinite(value)) { refuse("is not a finite number"); }
  return value;
}

/// Appends the numbers of a line. @return how many there are.
std::size_t append_row(std::string_view line, line_place const& at, std::vector<float>& to) {
  std::size_t count = 0;
  for (std::size_t begin = 0; begin != std::string_view::npos;) {
    std::size_t const comma = line.find(',', begin);
    std::string_view const text = line.substr(begin, comma - begin);
    to.push_back(number_in(without_spaces(text), ++count, at));
    begin = comma == std::string_view::npos ? comma : comma + 1;
  }
  return count;
}

}  // namespace

field read_csv(std::string const& path) {
  std::ifstream file(path);
  if (!file) { throw std::runtime_error(path + ": cannot be opened"); }
  field made;
  line_place at{path};
  for (std::string line; std::getline(file, line);) {
    ++at.line;
    if (without_spaces(line).empty()) { continue; }
    std::size_t const count = append_row(line, at, made.values);
    if (made.rows == 0) { made.columns = count; }
    if (count != made.columns) {
      at.refuse(": the row has " + std::to_string(count) + " numbers, but the first row has " +
                std::to_string(made.columns));
    }
    ++made.rows;
  }
  if (file.bad()) { throw std::runtime_error(path + ": cannot be read"); }
  if (made.values.empty()) { throw std::runtime_error(path + ": the file has no numbers"); }
  auto const [low, high] = std::minmax_element(made.values.begin(), made.values.end());
  made.low = *low;
  made.high = *high;
  return made;
}

}  // namespace heat
