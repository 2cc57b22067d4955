// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "metg.hpp"
#include "patterns_report.hpp"

namespace flotilla::bench {

namespace {

using json = nlohmann::ordered_json;

json or_null(std::optional<double> value) { return value ? json(*value) : json(nullptr); }

json times_json(cell const& cell, variant_times const& times) {
  json object{{"variant", times.variant}};
  if (!times.why_not.empty()) {
    object["not_available"] = times.why_not;
    return object;
  }
  std::optional<double> const seconds = times.median();
  auto const per = [&](double scale, std::size_t count) {
    return seconds && count != 0 ? json(*seconds * scale / static_cast<double>(count))
                                 : json(nullptr);
  };
  object["us_per_step"] = per(1e6, cell.steps);
  object["ns_per_task"] = per(1e9, cell.tasks);
  object["ns_per_edge"] = per(1e9, cell.edges);
  object["efficiency"] = or_null(cell.efficiency(seconds));
  object["seconds"] = times.seconds;
  return object;
}

json cell_json(cell const& cell, bool quick) {
  json times = json::array();
  for (variant_times const& each : cell.times) { times.push_back(times_json(cell, each)); }
  return {
      {"row", cell.row.empty() ? json(nullptr) : json(cell.row)},
      {"pattern", cell.pattern},
      {"width", cell.width},
      {"steps", cell.steps},
      {"tasks", cell.tasks},
      {"edges", cell.edges},
      {"irregular", cell.length.irregular},
      {"kernel_us", cell.length.irregular ? json(nullptr) : json(cell.length.nanoseconds / 1000.0)},
      {"critical_path_us", cell.critical_path_ns / 1000},
      {"ratio", quick ? json(nullptr) : or_null(cell.ratio())},
      {"variants", std::move(times)}};
}

json metg_json(metg_result const& metg) {
  return {{"pattern", metg.pattern},
          {"width", metg.width},
          {"variant", metg.variant},
          {"us", std::isinf(metg.us) ? json(nullptr) : json(metg.us)},
          {"searched_us", {metg_min_us, metg.max_us}}};
}

json verdict_json(verdict const& one) {
  auto const finite = [](std::optional<double> value) {
    return value && std::isfinite(*value) ? json(*value) : json(nullptr);
  };
  return {{"row", one.row},
          {"what", one.what},
          {"unit", one.unit.empty() ? "ratio" : one.unit},
          {"value", finite(one.value)},
          {"streams", finite(one.control)},
          {"target", one.target},
          {"met", one.met ? json(*one.met) : json(nullptr)},
          {"worst", one.worst},
          {"values", one.measured},
          {"missed", one.missed},
          {"complete", one.complete}};
}

}  // namespace

void write_patterns_json(std::string const& file,
                         std::vector<std::pair<std::string, std::string>> const& context,
                         patterns_options const& options, patterns_results const& results,
                         bool on_gpus) {
  json about;
  for (auto const& [key, value] : context) { about[key] = value; }
  about["quick"] = options.quick;
  about["repetitions"] = options.repetitions;
  about["seed"] = options.seed;
  about["devices_used"] = options.devices;
  about["not_measured"] = results.not_measured;
  json rows = json::array();
  for (cell const& each : results.cells) { rows.push_back(cell_json(each, options.quick)); }
  json metgs = json::array();
  for (metg_result const& each : results.metgs) { metgs.push_back(metg_json(each)); }
  json verdicts = json::array();
  if (!options.quick) {
    for (verdict const& each : judge(results, options.devices, on_gpus)) {
      verdicts.push_back(verdict_json(each));
    }
  }
  std::ofstream out{file};
  // Device names and driver messages can contain invalid UTF-8. Replace the invalid bytes.
  out << json{{"context", about}, {"rows", rows}, {"metg", metgs}, {"verdicts", verdicts}}.dump(
             1, ' ', false, json::error_handler_t::replace)
      << '\n';
  if (!out.flush()) { throw std::runtime_error{"cannot write the report to " + file}; }
}

}  // namespace flotilla::bench
