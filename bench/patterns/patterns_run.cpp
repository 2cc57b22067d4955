// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "patterns_run.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include "machine.hpp"
#include "metg.hpp"
#include "pattern.hpp"
#include "patterns_report.hpp"
#include "verdict.hpp"

namespace flotilla::bench {

namespace {

clock::time_point after(double seconds) {
  return clock::now() +
         std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
}

task_length length_of(double us) {
  return {.nanoseconds = static_cast<std::uint32_t>(us * 1000 + 0.5)};
}

/// Returns the ids of the rows that the run measures.
std::set<std::string> rows_of(patterns_options const& options) {
  if (!options.only.empty()) { return {options.only.begin(), options.only.end()}; }
  std::set<std::string> rows;
  for (std::string const& each : row_ids(options.devices)) { rows.insert(each); }
  if (!options.metg) { rows.erase(metg_row); }
  for (graph_row const& each : graph_rows()) {
    if (options.filtered) { rows.erase(each.id); }
  }
  return rows;
}

}  // namespace

std::vector<double> default_kernels(bool on_gpus) {
  // A CPU device runs all kernels on one thread, so longer kernels would only take longer.
  return on_gpus ? std::vector<double>{0, 1, 5, 20, 100} : std::vector<double>{0, 1, 5};
}

std::vector<std::string> variant_ids() {
  std::vector<std::string> ids;
  for (variant_name const& each : all_variants()) { ids.emplace_back(each.id); }
  return ids;
}

patterns_run::patterns_run(patterns_options wanted, std::ostream& out,
                           std::function<void(patterns_results const&)> save)
    : options_{std::move(wanted)},
      out_{out},
      save_{std::move(save)},
      on_gpus_{machine().api->kind == device_kind::gpu},
      deadline_{after(options_.seconds)},
      variants_{options_.variants.empty() ? variant_ids() : options_.variants, options_.devices,
                options_.workers} {
  if (options_.kernels.empty()) { options_.kernels = default_kernels(on_gpus_); }
  results_.rows = rows_of(options_);
}

bool patterns_run::wants(std::string const& pattern) const {
  return options_.patterns.empty() || std::find(options_.patterns.begin(), options_.patterns.end(),
                                                pattern) != options_.patterns.end();
}

patterns_run::members patterns_run::variants() const {
  members all;
  for (variant_set::member const& each : variants_.members()) { all.push_back(&each); }
  return all;
}

bool patterns_run::is_late(std::vector<std::string> const& ids) {
  if (clock::now() <= deadline_) { return false; }
  ++results_.not_measured;
  results_.incomplete_rows.insert(ids.begin(), ids.end());
  return true;
}

std::uint32_t patterns_run::steps_of(pattern const& pattern, std::uint32_t width,
                                     task_length length) const {
  if (options_.steps != 0) { return options_.steps; }
  if (options_.quick) { return 8; }
  // These limits keep a run of one variant below about 0.1 s: a driver call for a task or an edge
  // takes up to 20 us and 1 us.
  double const edges_of_a_step =
      static_cast<double>(make_graph(pattern, width, 3, {}, options_.seed).edges()) / 2;
  double const us = length.irregular ? 50 : length.nanoseconds / 1000.0;
  double const parallel = on_gpus_ ? 1 : width;
  double const steps = std::min({512.0, 3072.0 / width, 65536 / std::max(edges_of_a_step, 1.0),
                                 10000 / std::max(us * parallel, 0.1)});
  return std::max(16u, static_cast<std::uint32_t>(steps));
}

void patterns_run::run() {
  run_grid();
  for (graph_row const& each : graph_rows()) {
    if (has_row(each.id)) { run_graph_row(each); }
  }
  // With --metg, run_grid() has made these searches.
  if (has_row(metg_row) && !options_.metg) { run_metg_row(); }
  save_(results_);
  if (results_.not_measured != 0) {
    out_ << results_.not_measured
         << " rows were not measured: the time limit (--seconds) was reached\n";
  }
  if (!options_.quick) {
    print_verdicts(out_, judge(results_, options_.devices, on_gpus_), on_gpus_);
  }
}

void patterns_run::run_grid() {
  bool const all = has_row(row_of_all(options_.devices));
  for (pattern const& each : all_patterns()) {
    if (all && wants(each.name)) { run_pattern(each); }
  }
  if (wants("fan_in") && (all || has_row(fan_in_row))) { run_fan("fan_in", make_fan_in); }
  if (wants("fan_out") && (all || has_row(fan_out_row))) { run_fan("fan_out", make_fan_out); }
}

void patterns_run::run_pattern(pattern const& pattern) {
  if (clock::now() <= deadline_) {
    print_heading(out_, pattern.name, pattern.text, variants(), options_.quick);
  }
  for (std::uint32_t const width : options_.widths) {
    for (double const us : options_.kernels) { run_cell(pattern, width, length_of(us)); }
    bool const always_irregular = std::string{pattern.name} == "stencil_1d" && width == 64;
    if (options_.irregular || (always_irregular && !options_.quick)) {
      run_cell(pattern, width, {.irregular = true});
    }
    if (options_.metg) { run_metg(pattern, width); }
  }
  save_(results_);
}

void patterns_run::run_cell(pattern const& pattern, std::uint32_t width, task_length length) {
  if (is_late({row_of_all(options_.devices)})) { return; }
  std::uint32_t const steps = steps_of(pattern, width, length);
  task_graph const graph = make_graph(pattern, width, steps, length, options_.seed);
  finish_cell(describe_cell(pattern.name, width, steps, length, graph, on_gpus_), graph,
              variants());
}

void patterns_run::run_fan(std::string const& name,
                           task_graph (*make)(std::uint32_t, std::uint32_t)) {
  if (clock::now() <= deadline_) {
    print_heading(out_, name, name == "fan_in" ? "one task after many" : "many tasks after one",
                  variants(), options_.quick);
  }
  for (std::uint32_t const fan : options_.fans) {
    if (is_late({name, row_of_all(options_.devices)})) { continue; }
    std::uint32_t const rounds = options_.quick ? 2 : std::max(4u, 4096 / fan);
    task_graph const graph = make(fan, rounds);
    cell cell = describe_cell(name, fan, rounds, {}, graph, on_gpus_);
    cell.fan = true;
    finish_cell(std::move(cell), graph, variants());
  }
  save_(results_);
}

void patterns_run::run_graph_row(graph_row const& row) {
  if (is_late({row.id})) { return; }
  // The other variants would need seconds to make so large a graph.
  members compared;
  for (char const* const id : {flotilla_variant, control_variant}) {
    variant_set::member const* const found = variants_.find(id);
    if (found != nullptr) { compared.push_back(found); }
  }
  if (compared.empty()) { return; }
  std::uint32_t const steps = options_.quick ? 8 : graph_row::steps;
  print_heading(out_, row.id, row.pattern + std::string{" of width 64"}, compared, options_.quick);
  task_length const length{.irregular = row.irregular};
  task_graph const graph =
      make_graph(pattern_named(row.pattern), graph_row::width, steps, length, options_.seed);
  cell cell = describe_cell(row.pattern, graph_row::width, steps, length, graph, on_gpus_);
  cell.row = row.id;
  finish_cell(std::move(cell), graph, compared);
  save_(results_);
}

void patterns_run::finish_cell(cell cell, task_graph const& graph, members const& variants) {
  measure(cell, graph, variants, options_.quick ? 1 : options_.repetitions, deadline_);
  print_cell(out_, cell, options_.quick, on_gpus_);
  results_.cells.push_back(std::move(cell));
}

void patterns_run::run_metg_row() {
  for (std::string const& name : metg_patterns()) {
    if (!options_.quick) { out_ << '\n' << name << ":\n"; }
    for (std::uint32_t const width : metg_widths) { run_metg(pattern_named(name), width); }
    save_(results_);
  }
}

void patterns_run::run_metg(pattern const& pattern, std::uint32_t width) {
  double const max_us = on_gpus_ ? 2048 : 128;  // a CPU device runs one kernel at a time
  for (char const* const id : {flotilla_variant, control_variant}) {
    variant_set::member const* const how = variants_.find(id);
    if (how == nullptr || is_late({metg_row})) { continue; }
    auto const found = find_metg(max_us, [&](double us) -> std::optional<double> {
      if (clock::now() > deadline_) { return std::nullopt; }
      task_length const length = length_of(us);
      std::uint32_t const steps = steps_of(pattern, width, length);
      task_graph const graph = make_graph(pattern, width, steps, length, options_.seed);
      cell probe = describe_cell(pattern.name, width, steps, length, graph, on_gpus_);
      measure(probe, graph, {how}, options_.quick ? 1 : 3, deadline_);
      return probe.efficiency(probe.seconds(id));
    });
    if (!found) {
      static_cast<void>(is_late({metg_row}));
      continue;
    }
    results_.metgs.push_back({pattern.name, width, id, *found, max_us});
    print_metg(out_, results_.metgs.back(), options_.quick);
  }
}

}  // namespace flotilla::bench
