// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of `flotilla bench --suite patterns`.

#include <cstdint>
#include <string>
#include <vector>

namespace flotilla::bench {

struct patterns_options {
  std::vector<std::string> only{};      // ids of rows; empty: see `filtered`
  std::vector<std::string> patterns{};  // empty: all patterns, fan_in and fan_out
  std::vector<std::string> variants{};  // empty: all variants
  std::vector<std::uint32_t> widths{1, 16, 64};
  std::vector<std::uint32_t> fans{64, 1000};  // number of edges of a round of fan_in and fan_out
  std::vector<double> kernels{};              // kernel lengths in us; empty: default_kernels()
  std::uint32_t steps = 0;                    // 0: the program chooses
  int repetitions = 5;
  int devices = 1;   // 1 or 2
  int workers = -1;  // see runtime_options::workers
  std::uint32_t seed = 1;
  double seconds = 160;
  bool irregular = false;
  bool metg = false;
  bool quick = false;
  // True: one of the options patterns, widths, fans, kernels and steps was given. Then the graphs
  // of single rows (graph_rows()) are measured only if `only` names them.
  bool filtered = false;
};

}  // namespace flotilla::bench
