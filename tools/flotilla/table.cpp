// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <algorithm>
#include <cassert>
#include <ostream>
#include <utility>

namespace tool {

table::table(std::vector<std::string> heading) { rows_.push_back(std::move(heading)); }

void table::add(std::vector<std::string> row) {
  assert(row.size() == rows_.front().size());
  rows_.push_back(std::move(row));
}

std::ostream& operator<<(std::ostream& out, table const& shown) {
  std::vector<std::size_t> widths(shown.rows_.front().size());
  for (auto const& row : shown.rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) { widths[i] = std::max(widths[i], row[i].size()); }
  }
  for (auto const& row : shown.rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += "  " + row[i] + std::string(widths[i] - row[i].size(), ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
  return out;
}

}  // namespace tool
