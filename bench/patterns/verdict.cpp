// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "cell_text.hpp"
#include "pattern_rows.hpp"

namespace flotilla::bench {

namespace {

/// Adds one value to a verdict.
void add(verdict& to, std::string const& where, double value, std::optional<double> control = {}) {
  ++to.measured;
  if (!(value <= to.target)) { to.missed.push_back(where); }
  if (to.value && value <= *to.value) { return; }
  to.value = value;
  to.control = control;
  to.worst = where;
}

std::optional<double> scaled(std::optional<double> seconds, double scale, std::size_t count) {
  if (!seconds || count == 0) { return std::nullopt; }
  return *seconds * scale / static_cast<double>(count);
}

verdict judge_ratios(patterns_results const& results, char const* row) {
  verdict all{.row = row, .what = "time / streams by hand", .target = max_of_streams};
  for (cell const& each : results.cells) {
    if (auto const ratio = each.ratio()) { add(all, name_of(each), *ratio); }
  }
  return all;
}

verdict judge_graph(patterns_results const& results, graph_row const& row) {
  verdict one{.row = row.id,
              .what = row.irregular ? "time / critical path" : "time of a task",
              .unit = row.irregular ? "" : "ns",
              .target = row.max_value};
  for (cell const& each : results.cells) {
    if (each.row != row.id) { continue; }
    auto const value = [&](char const* variant) -> std::optional<double> {
      std::optional<double> const seconds = each.seconds(variant);
      if (!row.irregular) { return scaled(seconds, 1e9, each.tasks); }
      if (!seconds) { return std::nullopt; }
      return *seconds * 1e9 / each.critical_path_ns;
    };
    if (auto const own = value(flotilla_variant)) {
      add(one, name_of(each), *own, value(control_variant));
    }
  }
  return one;
}

verdict judge_fan(patterns_results const& results, char const* row) {
  verdict all{.row = row, .what = "time of an edge", .unit = "ns", .target = 25};
  for (cell const& each : results.cells) {
    if (!each.fan || each.pattern != row) { continue; }
    if (auto const own = scaled(each.seconds(flotilla_variant), 1e9, each.edges)) {
      add(all, name_of(each), *own, scaled(each.seconds(control_variant), 1e9, each.edges));
    }
  }
  return all;
}

/// The row `metg` needs only some of the searches.
bool needs(metg_result const& search) {
  auto const& patterns = metg_patterns();
  return std::find(patterns.begin(), patterns.end(), search.pattern) != patterns.end() &&
         std::find(std::begin(metg_widths), std::end(metg_widths), search.width) !=
             std::end(metg_widths);
}

std::vector<verdict> judge_metg(patterns_results const& results) {
  verdict length{.row = metg_row, .what = "METG(50 %)", .unit = "us", .target = 5};
  verdict ratio{.row = metg_row, .what = "METG(50 %) / that of streams by hand", .target = 0.1};
  for (metg_result const& each : results.metgs) {
    if (each.variant != flotilla_variant || !needs(each)) { continue; }
    std::string const where = each.pattern + ", width " + std::to_string(each.width);
    auto const control =
        std::find_if(results.metgs.begin(), results.metgs.end(), [&](metg_result const& other) {
          return other.variant == control_variant && other.pattern == each.pattern &&
                 other.width == each.width;
        });
    bool const has_control = control != results.metgs.end();
    add(length, where, each.us, has_control ? std::optional{control->us} : std::nullopt);
    // A METG beyond the longest kernel of the search counts as this kernel, which makes the ratio
    // larger.
    if (has_control) { add(ratio, where, each.us / std::min(control->us, control->max_us)); }
  }
  return {length, ratio};
}

}  // namespace

std::vector<verdict> judge(patterns_results const& results, int devices, bool on_gpus) {
  std::vector<verdict> all;
  if (devices == 2) {
    all.push_back(judge_ratios(results, on_two_row));
  } else {
    all.push_back(judge_ratios(results, by_hand_row));
    for (verdict& each : judge_metg(results)) { all.push_back(std::move(each)); }
    for (graph_row const& each : graph_rows()) { all.push_back(judge_graph(results, each)); }
    for (char const* const row : {fan_in_row, fan_out_row}) {
      all.push_back(judge_fan(results, row));
    }
  }
  std::erase_if(all, [&](verdict const& each) {
    return !results.rows.contains(each.row) ||
           (!each.value && !results.incomplete_rows.contains(each.row));
  });
  for (verdict& each : all) {
    each.complete = !results.incomplete_rows.contains(each.row);
    if (!on_gpus || !each.value) { continue; }
    if (!each.missed.empty()) {
      each.met = false;
    } else if (each.complete) {
      each.met = true;
    }
  }
  return all;
}

}  // namespace flotilla::bench
