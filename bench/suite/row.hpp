#pragma once
// A row of the table: a figure of flotilla, its control, and what their ratio is to be.

#include <optional>
#include <string>
#include <vector>

#include "figure.hpp"

namespace flotilla::bench {

enum class statistic { median, p50, p99 };

/// What is asked.
struct row {
  std::string id;
  std::string subject;                  // the name of a figure
  statistic of = statistic::median;     // of the figure and of its control
  std::string control;                  // in words
  std::vector<std::string> controls{};  // names of figures: the lowest is the control
  std::optional<double> constant_ns{};  // the control where it is no figure
  std::optional<double> most_ratio{};   // to the control
  std::optional<double> most{};         // of the figure itself, in its unit; with a ratio too, the looser of both
  bool for_gpus = true;                 // elsewhere the figures are shown and not judged
};

/// What came out; what is empty is not known, and `note` says why.
struct row_result {
  std::string id, control, unit, note;
  statistic of = statistic::median;
  std::optional<double> value, control_value, ratio, target;
  bool target_is_ratio = true;
  std::optional<bool> met;
  bool judged = true;  // false: the target says nothing of such devices
  std::optional<double> spread, p50, p99, p999;
};

/// @param on_gpus  Whether the figures are of GPUs.
[[nodiscard]] row_result evaluate(row const& asked, std::vector<figure> const& figures,
                                  bool on_gpus);

[[nodiscard]] char const* to_string(statistic value) noexcept;

}  // namespace flotilla::bench
