// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "field.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "csv_file.hpp"
#include "png_file.hpp"

namespace heat {

namespace {

/// Sets a disc of the field to `value`. Its centre and radius are fractions of the sides.
void add_disc(field& to, double row, double column, double radius, float value) {
  double const size = static_cast<double>(std::min(to.rows, to.columns));
  for (std::size_t r = 0; r < to.rows; ++r) {
    double const y = static_cast<double>(r) - row * static_cast<double>(to.rows);
    for (std::size_t c = 0; c < to.columns; ++c) {
      double const x = static_cast<double>(c) - column * static_cast<double>(to.columns);
      if (x * x + y * y <= radius * radius * size * size) { to.values[r * to.columns + c] = value; }
    }
  }
}

}  // namespace

field make_field(std::size_t rows, std::size_t columns) {
  field made{.rows = rows, .columns = columns};
  made.values.resize(rows * columns);
  add_disc(made, 0.25, 0.3, 0.12, 0.9f);
  add_disc(made, 0.55, 0.7, 0.2, 0.6f);
  add_disc(made, 0.85, 0.35, 0.08, 1.0f);
  for (std::size_t r = 0; r < rows; ++r) { made.values[r * columns] = 1.0f; }
  return made;
}

bool has_suffix(std::string const& path, std::string const& suffix) {
  auto const same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return path.size() >= suffix.size() &&
         std::equal(path.end() - static_cast<std::ptrdiff_t>(suffix.size()), path.end(),
                    suffix.begin(), same);
}

void check_size(std::string const& name, std::size_t rows, std::size_t columns) {
  if (std::min(rows, columns) >= field::min_side && std::max(rows, columns) <= field::max_side) {
    return;
  }
  throw std::runtime_error(name + ": the field has " + std::to_string(rows) + " rows and " +
                           std::to_string(columns) + " columns, but each must be between " +
                           std::to_string(field::min_side) + " and " +
                           std::to_string(field::max_side));
}

field read_field(std::string const& path) {
  field made;
  if (has_suffix(path, ".png")) {
    made = read_png(path);
  } else if (has_suffix(path, ".csv")) {
    made = read_csv(path);
  } else {
    throw std::runtime_error(path + ": the name of the file must end with .png or .csv");
  }
  check_size(path, made.rows, made.columns);
  return made;
}

}  // namespace heat
