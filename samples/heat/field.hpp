// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A field of temperatures in memory of the host.

#include <cstddef>
#include <string>
#include <vector>

namespace heat {

/// Temperatures row by row.
struct field {
  /// Limits for rows and columns. A smaller field has no cell inside its border.
  static constexpr std::size_t min_side = 3, max_side = std::size_t{1} << 20;

  std::size_t rows = 0, columns = 0;
  std::vector<float> values{};
  /// The range of temperatures that a picture of the field shows. No step leaves the range, because
  /// a new value lies between the old values of the cell and its neighbours.
  float low = 0, high = 1;
};

/// Makes a cold field with a hot left border and some hot discs.
[[nodiscard]] field make_field(std::size_t rows, std::size_t columns);

/// Reads a field from a PNG or CSV file.
/// @throws std::runtime_error  The message names the file and the reason, for a CSV file also the
///                             line.
[[nodiscard]] field read_field(std::string const& path);

/// @throws std::runtime_error  A field must not have so few or so many rows or columns. The message
///                             begins with `name`.
void check_size(std::string const& name, std::size_t rows, std::size_t columns);

/// Returns whether the name of a file ends with `suffix`, in lower or upper case.
[[nodiscard]] bool has_suffix(std::string const& path, std::string const& suffix);

}  // namespace heat
