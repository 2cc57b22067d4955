// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <ostream>

#include "report.hpp"

namespace flotilla::bench {

namespace {

/// Formats a cost with three digits and its unit.
std::string amount(std::optional<double> value, std::string const& unit) {
  if (!value) { return "-"; }
  char text[48];
  if (unit != "ns") {
    std::snprintf(text, sizeof text, "%.3g", *value);
  } else if (*value < 1e3) {
    std::snprintf(text, sizeof text, "%.3g ns", *value);
  } else if (*value < 1e6) {
    std::snprintf(text, sizeof text, "%.3g us", *value / 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.3g ms", *value / 1e6);
  }
  return text;
}

std::string formatted(std::optional<double> value, char const* format) {
  if (!value) { return "-"; }
  char text[32];
  std::snprintf(text, sizeof text, format, *value);
  return text;
}

std::string target_of(row_result const& row) {
  if (!row.target) { return "-"; }
  return "<= " + (row.target_is_ratio ? formatted(row.target, "%.3g") + " x"
                                      : amount(row.target, row.unit));
}

}  // namespace

void print_check(std::ostream& out, std::vector<row_result> const& rows) {
  std::string last;
  for (row_result const& each : rows) {
    if (each.id == last) { continue; }  // the same row for another quantile
    last = each.id;
    char id[32];
    std::snprintf(id, sizeof id, "%-15s ", each.id.c_str());
    out << id << (each.value ? "works" : each.note) << '\n';
  }
  out << "--quick only checks that the rows work; run without --quick to measure\n";
}

void print_table(std::ostream& out, std::vector<row_result> const& rows) {
  char line[512];
  std::snprintf(line, sizeof line, "%-15s %-6s %9s %7s %9s %9s %9s %9s %7s %9s %-3s %s\n", "id",
                "of", "cost", "spread", "p50", "p99", "p99.9", "control", "ratio", "target", "met",
                "control is");
  out << line;
  bool all_judged = true;
  for (row_result const& each : rows) {
    char const* const met = !each.judged ? "-" : !each.met ? "?" : *each.met ? "yes" : "NO";
    std::snprintf(line, sizeof line, "%-15s %-6s %9s %7s %9s %9s %9s %9s %7s %9s %-3s ",
                  each.id.c_str(), to_string(each.of), amount(each.value, each.unit).c_str(),
                  each.spread ? (formatted(*each.spread * 100, "%.0f") + " %").c_str() : "-",
                  amount(each.p50, "ns").c_str(), amount(each.p99, "ns").c_str(),
                  amount(each.p999, "ns").c_str(), amount(each.control_value, "ns").c_str(),
                  formatted(each.ratio, "%.3f").c_str(), target_of(each).c_str(), met);
    out << line << each.control;
    if (!each.note.empty()) { out << " [" << each.note << ']'; }
    out << '\n';
    all_judged = all_judged && each.judged;
  }
  if (!all_judged) {
    out << "\"-\" in the column \"met\": the row has no target, or its target is only for GPUs\n";
  }
}

}  // namespace flotilla::bench
