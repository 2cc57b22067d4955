// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows of this suite. A row has a target and is judged after the run (see verdict.hpp).

#include <cstdint>
#include <string>
#include <vector>

namespace flotilla::bench {

// The ids of rows.
inline constexpr char const* by_hand_row = "by_hand";       // all cells, one device
inline constexpr char const* on_two_row = "patterns_2gpu";  // all cells, two devices
inline constexpr char const* metg_row = "metg";
inline constexpr char const* fan_in_row = "fan_in";
inline constexpr char const* fan_out_row = "fan_out";

/// A row that measures one graph of its own.
struct graph_row {
  char const* id;
  char const* pattern;
  bool irregular;
  double max_value;  // target: ns per task, or if irregular, time / critical path
  static constexpr std::uint32_t width = 64;
  static constexpr std::uint32_t steps = 1000;
};
[[nodiscard]] std::vector<graph_row> const& graph_rows();

/// The searches that the row `metg` needs.
[[nodiscard]] std::vector<std::string> const& metg_patterns();
inline constexpr std::uint32_t metg_widths[] = {16, 64};

/// The id of the row that judges all cells of a run on `devices` devices.
[[nodiscard]] std::string row_of_all(int devices);
/// The ids of all rows of a run on `devices` devices.
[[nodiscard]] std::vector<std::string> row_ids(int devices);

}  // namespace flotilla::bench
