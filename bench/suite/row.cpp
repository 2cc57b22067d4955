// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "row.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace flotilla::bench {

namespace {

std::string rate_of(double bytes, double ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GB/s", bytes / ns);
  return text;
}

figure const& find(std::vector<figure> const& figures, std::string const& name) {
  auto const found = std::find_if(figures.begin(), figures.end(),
                                  [&](figure const& each) { return each.name == name; });
  if (found == figures.end()) {
    throw std::logic_error{"a row refers to the figure '" + name + "', which does not exist"};
  }
  return *found;
}

double value_of(figure const& figure, statistic of) {
  switch (of) {
    case statistic::p50: return figure.quantile(0.5);
    case statistic::p99: return figure.quantile(0.99);
    case statistic::median: break;
  }
  return figure.median();
}

/// Returns the control with the lowest value. If any control was not measured, returns null and
/// writes the reason to `result.note`.
figure const* best_control(row const& row, std::vector<figure> const& figures, row_result& result) {
  figure const* best = nullptr;
  for (std::string const& name : row.controls) {
    figure const& each = find(figures, name);
    if (!each.measured()) {
      // This control might have had the lowest value, so the lowest value is unknown.
      result.note = "control " + name + ": " + each.why_not;
      return nullptr;
    }
    if (best == nullptr || value_of(each, row.of) < value_of(*best, row.of)) { best = &each; }
  }
  return best;
}

}  // namespace

row_result evaluate(row const& row, std::vector<figure> const& figures, bool on_gpus) {
  row_result result;
  result.id = row.id;
  result.control = row.control;
  result.of = row.of;
  result.target = row.max_ratio ? row.max_ratio : row.max_value;
  result.target_is_ratio = row.max_ratio.has_value();
  figure const& subject = find(figures, row.subject);
  result.unit = subject.unit;
  if (!subject.measured()) {
    result.note = subject.why_not;
    return result;
  }
  result.note = subject.note;
  result.value = value_of(subject, row.of);
  result.spread = subject.spread();
  if (!subject.samples.empty()) {
    result.p50 = subject.quantile(0.5);
    result.p99 = subject.quantile(0.99);
    result.p999 = subject.quantile(0.999);
  }
  if (row.constant_ns) {
    result.control_value = row.constant_ns;
  } else if (!row.controls.empty()) {
    figure const* const control = best_control(row, figures, result);
    if (control != nullptr) {
      result.control_value = value_of(*control, row.of);
      if (row.controls.size() > 1) { result.control += " (" + control->name + ")"; }
    }
  }
  if (result.control_value && *result.control_value > 0) {
    result.ratio = *result.value / *result.control_value;
  }
  if (row.max_ratio && row.max_value) {
    // The target is the larger of two costs: max_value, and max_ratio times the cost of the
    // control. If the control was not measured, the target is unknown.
    result.target_is_ratio = false;
    result.target.reset();
    if (result.control_value) {
      result.target = std::max(*row.max_ratio * *result.control_value, *row.max_value);
    }
  }
  if (subject.tags.bytes > 0) {
    // A time in ns is the reciprocal of a rate in GB/s.
    result.note += (result.note.empty() ? "" : "; ") + rate_of(subject.tags.bytes, *result.value);
    if (result.control_value) {
      result.note += ", control " + rate_of(subject.tags.bytes, *result.control_value);
    }
  }
  bool const has_target = row.max_ratio || row.max_value;
  if (!has_target || (row.for_gpus && !on_gpus)) {
    result.judged = false;
  } else if (result.target && !result.target_is_ratio) {
    result.met = *result.value <= *result.target;
  } else if (result.target && result.ratio) {
    result.met = *result.ratio <= *result.target;
  }
  return result;
}

char const* to_string(statistic value) noexcept {
  switch (value) {
    case statistic::p50: return "p50";
    case statistic::p99: return "p99";
    case statistic::median: break;
  }
  return "median";
}

}  // namespace flotilla::bench
