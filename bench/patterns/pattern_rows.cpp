// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "pattern_rows.hpp"

namespace flotilla::bench {

std::vector<graph_row> const& graph_rows() {
  static std::vector<graph_row> const all{
      {"stencil_64", "stencil_1d", false, 60},
      {"tree_64", "tree", false, 60},
      {"random_64", "random", false, 60},
      {"irregular", "stencil_1d", true, 1.15},
  };
  return all;
}

std::vector<std::string> const& metg_patterns() {
  static std::vector<std::string> const all{"stencil_1d", "fft", "nearest", "tree", "random"};
  return all;
}

std::string row_of_all(int devices) { return devices == 2 ? on_two_row : by_hand_row; }

std::vector<std::string> row_ids(int devices) {
  std::vector<std::string> ids{row_of_all(devices)};
  if (devices == 2) { return ids; }
  ids.emplace_back(metg_row);
  for (graph_row const& each : graph_rows()) { ids.emplace_back(each.id); }
  ids.insert(ids.end(), {fan_in_row, fan_out_row});
  return ids;
}

}  // namespace flotilla::bench
