#pragma once
// A row of the table: a figure of flotilla, its control, and the target of their ratio.

#include <optional>
#include <string>
#include <vector>

#include "figure.hpp"

namespace flotilla::bench {

enum class statistic { median, p50, p99 };

/// What to compare.
struct row {
  std::string id;
  std::string subject;                  // the name of a figure
  statistic of = statistic::median;     // of the subject and of its control
  std::string control;                  // in words
  std::vector<std::string> controls{};  // names of figures; the lowest one is the control
  std::optional<double> constant_ns{};  // the control, if it is not a figure
  std::optional<double> max_ratio{};    // target: subject by control
  std::optional<double> max_value{};    // target: subject. With max_ratio, the looser one counts
  bool for_gpus = true;                 // on CPU devices the target is not judged
};

/// The result. Empty values are unknown, and `note` says why.
struct row_result {
  std::string id, control, unit, note;
  statistic of = statistic::median;
  std::optional<double> value, control_value, ratio, target;
  bool target_is_ratio = true;
  std::optional<bool> met;
  bool judged = true;  // false: there is no target, or it does not apply to these devices
  std::optional<double> spread, p50, p99, p999;
};

/// @param on_gpus  Whether the figures were measured on GPUs.
[[nodiscard]] row_result evaluate(row const& row, std::vector<figure> const& figures, bool on_gpus);

[[nodiscard]] char const* to_string(statistic value) noexcept;

}  // namespace flotilla::bench
