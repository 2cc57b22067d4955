// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <ostream>

#include "cell_text.hpp"
#include "metg.hpp"
#include "patterns_report.hpp"

namespace flotilla::bench {

namespace {

/// Three columns: the time of a step, the time of a task or edge, and the efficiency.
std::string columns(cell const& cell, variant_times const& times) {
  if (!times.why_not.empty()) { return padded("not available", 24); }
  std::optional<double> const seconds = times.median();
  if (!seconds) { return padded("not measured", 24); }
  auto const parts = static_cast<double>(cell.fan ? cell.edges : cell.tasks);
  std::optional<double> const efficiency = cell.efficiency(seconds);
  return padded(number(*seconds * 1e6 / cell.steps), 9) +
         padded(number(*seconds * 1e9 / parts), 9) +
         padded(efficiency ? formatted("%.2f", *efficiency) : "-", 6);
}

void print_check(std::ostream& out, cell const& cell) {
  for (variant_times const& each : cell.times) {
    out << (cell.row.empty() ? cell.pattern : cell.row) << ' ' << cell.width << ' '
        << kernel_text(cell) << ' ' << each.variant << ": "
        << (each.why_not.empty() ? "works" : "not available: " + each.why_not) << '\n';
  }
}

}  // namespace

void print_heading(std::ostream& out, std::string const& pattern, std::string const& text,
                   std::vector<variant_set::member const*> const& variants, bool quick) {
  if (quick) { return; }
  bool const fan = pattern == "fan_in" || pattern == "fan_out";
  out << '\n' << pattern << ": " << text << '\n';
  out << "                    ";
  for (variant_set::member const* each : variants) { out << padded(each->id, 26); }
  out << padded("flotilla /", 14) << '\n';
  out << (fan ? " edges rounds       " : " width  steps kernel");
  for (std::size_t i = 0; i < variants.size(); ++i) {
    out << " |" << (fan ? " us/round  ns/edge" : "  us/step  ns/task") << "  eff.";
  }
  out << " |    streams met" << std::endl;
}

void print_cell(std::ostream& out, cell const& cell, bool quick, bool on_gpus) {
  if (quick) {
    print_check(out, cell);
    out.flush();
    return;
  }
  out << padded(std::to_string(cell.width), 6) << padded(std::to_string(cell.steps), 7)
      << padded(kernel_text(cell), 7);
  for (variant_times const& each : cell.times) { out << " |" << columns(cell, each); }
  std::optional<double> const ratio = cell.ratio();
  char const* const met = !ratio || !on_gpus ? "-" : *ratio <= max_of_streams ? "yes" : "NO";
  out << " |" << padded(ratio ? formatted("%.3f", *ratio) : "-", 11) << padded(met, 4);
  if (cell.length.irregular) {
    out << "  critical path "
        << number(cell.critical_path_ns / 1000 / static_cast<double>(cell.steps)) << " us/step";
  }
  out << std::endl;
}

void print_metg(std::ostream& out, metg_result const& metg, bool quick) {
  out << padded(std::to_string(metg.width), 6) << "  METG(50 %) of " << metg.variant << ": ";
  if (quick) {
    out << "works";
  } else if (std::isinf(metg.us)) {
    out << "more than " << number(metg.max_us) << " us";
  } else {
    out << (metg.us <= metg_min_us ? "at most " : "") << number(metg.us) << " us";
  }
  out << std::endl;
}

}  // namespace flotilla::bench
