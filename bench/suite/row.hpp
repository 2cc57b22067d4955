// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A row of the table compares a figure of flotilla with a control and judges it by a target.

#include <optional>
#include <string>
#include <vector>

#include "figure.hpp"

namespace flotilla::bench {

enum class statistic { median, p50, p99 };

/// The definition of a row.
struct row {
  std::string id;
  std::string subject;                  // name of the figure that is judged
  statistic of = statistic::median;     // which value of the figures is compared
  std::string control;                  // description of the control for the table
  std::vector<std::string> controls{};  // figure names; the figure with the lowest value is used
  std::optional<double> constant_ns{};  // fixed value of the control; `controls` is then ignored
  std::optional<double> max_ratio{};    // target: maximum of subject / control
  /// Target: maximum of the subject. If max_ratio is set as well, the less strict of the two
  /// targets counts.
  std::optional<double> max_value{};
  bool for_gpus = true;  // the target is not judged on CPU devices
};

/// The result of a row. An unknown value is empty.
struct row_result {
  std::string id, control, unit, note;
  statistic of = statistic::median;
  std::optional<double> value, control_value, ratio, target;
  bool target_is_ratio = true;
  std::optional<bool> met;
  // False if the row has no target, or if its target does not apply to these devices.
  bool judged = true;
  std::optional<double> spread, p50, p99, p999;
};

/// @param on_gpus  Whether the figures were measured on GPUs.
[[nodiscard]] row_result evaluate(row const& row, std::vector<figure> const& figures, bool on_gpus);

[[nodiscard]] char const* to_string(statistic value) noexcept;

}  // namespace flotilla::bench
