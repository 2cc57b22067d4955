// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A verdict says whether a row meets a target. It names the measurement that decides.

#include <optional>
#include <string>
#include <vector>

#include "patterns_results.hpp"

namespace flotilla::bench {

/// The maximum time of flotilla divided by the time of streams by hand, for every cell.
inline constexpr double max_of_streams = 1.05;

/// A row with two targets has two verdicts.
struct verdict {
  std::string row;
  std::string what;                   // what is compared with the target, in words
  std::string unit{};                 // "ns", "us", or empty for a ratio
  double target = 0;                  // the maximum of `value`
  std::optional<double> value{};      // the worst value; infinity: beyond the end of a search
  std::optional<double> control{};    // the value of streams by hand in the worst measurement
  std::string worst{};                // the measurement that has this value
  std::size_t measured = 0;           // number of values
  std::vector<std::string> missed{};  // measurements that miss the target
  bool complete = true;               // false: the time limit left out a measurement
  /// Empty if the target is not judged: on CPU devices, or if measurements are missing and none of
  /// the others misses the target.
  std::optional<bool> met{};
};

/// Judges the rows of a run on `devices` devices. Rows of which nothing was to be measured have no
/// verdict.
/// @param on_gpus  Whether the devices are GPUs. All targets are for GPUs.
[[nodiscard]] std::vector<verdict> judge(patterns_results const& results, int devices,
                                         bool on_gpus);

}  // namespace flotilla::bench
