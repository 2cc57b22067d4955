// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cell_text.hpp"

#include <cstdio>

namespace flotilla::bench {

std::string formatted(char const* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string number(double value) {
  return formatted(value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value);
}

std::string padded(std::string const& text, int width) {
  char result[128];
  std::snprintf(result, sizeof result, "%*s", width, text.c_str());
  return result;
}

std::string kernel_text(cell const& cell) {
  return cell.length.irregular ? "1-50" : formatted("%g", cell.length.nanoseconds / 1000.0);
}

std::string name_of(cell const& cell) {
  std::string const size = std::to_string(cell.width);
  if (cell.fan) { return cell.pattern + ", " + size + " edges"; }
  return cell.pattern + ", width " + size + ", " + std::to_string(cell.steps) + " steps, kernel " +
         kernel_text(cell) + " us";
}

}  // namespace flotilla::bench
