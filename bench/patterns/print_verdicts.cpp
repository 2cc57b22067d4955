// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <ostream>

#include "cell_text.hpp"
#include "patterns_report.hpp"

namespace flotilla::bench {

namespace {

std::string amount(std::optional<double> value, std::string const& unit) {
  if (!value) { return "-"; }
  if (std::isinf(*value)) { return "too long"; }
  return unit.empty() ? formatted("%.3f", *value) : number(*value) + ' ' + unit;
}

std::string target_of(verdict const& one) {
  return "<= " + formatted("%g", one.target) + (one.unit.empty() ? "" : ' ' + one.unit);
}

std::string explanation(verdict const& one) {
  std::string text = one.what;
  if (one.measured > 1) {
    text += ", " + std::to_string(one.measured) + " values, " + std::to_string(one.missed.size()) +
            " too high; worst: " + one.worst;
  } else if (one.value) {
    text += ": " + one.worst;
  }
  return text + (one.complete ? "" : " [the time limit (--seconds) left out measurements]");
}

void print_line(std::ostream& out, verdict const& one) {
  char const* const met = !one.met ? (one.complete ? "-" : "?") : *one.met ? "yes" : "NO";
  char line[128];
  std::snprintf(line, sizeof line, "%-13s %10s %10s %10s %-3s ", one.row.c_str(),
                amount(one.value, one.unit).c_str(), amount(one.control, one.unit).c_str(),
                target_of(one).c_str(), met);
  out << line << explanation(one) << '\n';
}

}  // namespace

void print_verdicts(std::ostream& out, std::vector<verdict> const& verdicts, bool on_gpus) {
  if (verdicts.empty()) { return; }
  char line[128];
  std::snprintf(line, sizeof line, "\n%-13s %10s %10s %10s %-3s %s\n", "row", "value", "streams",
                "target", "met", "what");
  out << line;
  for (verdict const& each : verdicts) { print_line(out, each); }
  if (!on_gpus) {
    out << "the targets are only for GPUs" << std::endl;
    return;
  }
  for (verdict const& each : verdicts) {
    if (each.measured < 2) { continue; }
    for (std::string const& missed : each.missed) {
      out << each.row << " misses " << target_of(each) << ": " << missed << '\n';
    }
  }
  out.flush();
}

}  // namespace flotilla::bench
