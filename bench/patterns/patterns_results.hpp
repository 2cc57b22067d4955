// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The results of a run of the suite.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cell.hpp"

namespace flotilla::bench {

/// The METG of one variant. Infinity means more than `max_us`.
struct metg_result {
  std::string pattern;
  std::uint32_t width;
  std::string variant;
  double us;
  double max_us;  // longest kernel of the search
};

struct patterns_results {
  std::vector<cell> cells{};
  std::vector<metg_result> metgs{};
  std::set<std::string> rows{};             // ids of the rows that the run measures
  int not_measured = 0;                     // cells and searches that the time limit left out
  std::set<std::string> incomplete_rows{};  // the rows that need these cells and searches
};

}  // namespace flotilla::bench
