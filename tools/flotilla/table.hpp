// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace tool {

/// Rows of text. Each column is as wide as its widest cell. The first row is the heading.
class table {
 public:
  explicit table(std::vector<std::string> heading);

  /// Adds a row. `row` must have as many cells as the heading.
  void add(std::vector<std::string> row);

  friend std::ostream& operator<<(std::ostream& out, table const& shown);

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tool
