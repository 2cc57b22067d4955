// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "bench_suite.hpp"
#include "report.hpp"

namespace flotilla::bench {

namespace {

using json = nlohmann::ordered_json;

json or_null(std::optional<double> value) { return value ? json(*value) : json(nullptr); }

json row_json(row_result const& row) {
  bool const time = row.unit == "ns";
  json object{{"id", row.id},
              {"ns", time ? or_null(row.value) : json(nullptr)},
              {"control", row.control},
              {"control_ns", or_null(row.control_value)},
              {"ratio", or_null(row.ratio)},
              {"target", or_null(row.target)},
              {"met", row.met ? json(*row.met) : json(nullptr)},
              {"of", to_string(row.of)},
              {"target_of", row.target_is_ratio ? "ratio" : row.unit},
              {"spread", or_null(row.spread)},
              {"p50_ns", or_null(row.p50)},
              {"p99_ns", or_null(row.p99)},
              {"p999_ns", or_null(row.p999)},
              {"judged", row.judged},
              {"note", row.note}};
  if (!time) { object[row.unit] = or_null(row.value); }
  return object;
}

json figure_json(figure const& figure) {
  json object{{"name", figure.name},
              {"who", figure.tags.who},
              {"what", figure.tags.what},
              {"producers", figure.tags.producers},
              {"devices", figure.tags.devices},
              {"backlog", figure.tags.backlog},
              {"length_us", figure.tags.length_us},
              {"bytes", figure.tags.bytes},
              {"unit", figure.unit}};
  if (!figure.measured()) {
    object["why_not"] = figure.why_not;
    return object;
  }
  object["middle"] = figure.median();
  object["passes"] = figure.passes;
  object["spread"] = figure.spread();
  if (!figure.samples.empty()) {
    // The distribution as pairs (part, ns): a fraction `part` of the tasks took at most `ns`.
    json quantiles = json::array();
    for (int part = 0; part <= 1000; part += part < 900 ? 10 : 1) {
      quantiles.push_back({part / 1000.0, figure.quantile(part / 1000.0)});
    }
    object["quantiles"] = std::move(quantiles);
  }
  if (!figure.note.empty()) { object["note"] = figure.note; }
  return object;
}

}  // namespace

void write_json(std::string const& file, bench_suite const& suite, std::string const& command) {
  json context;
  for (auto const& [key, value] : run_context()) { context[key] = value; }
  context["command"] = command;
  context["quick"] = suite.is_quick();
  context["passes"] = suite.amount().passes;
  context["seconds"] = suite.seconds();
  json rows = json::array();
  for (row_result const& each : suite.results()) { rows.push_back(row_json(each)); }
  json figures = json::array();
  for (figure const& each : suite.figures()) {
    if (each.measured() || !each.why_not.empty()) { figures.push_back(figure_json(each)); }
  }
  std::ofstream out{file};
  // Device names and driver messages can contain invalid UTF-8. Replace the invalid bytes.
  out << json{{"context", context}, {"rows", rows}, {"figures", figures}}.dump(
             1, ' ', false, json::error_handler_t::replace)
      << '\n';
  if (!out.flush()) { throw std::runtime_error{"cannot write the report to " + file}; }
}

}  // namespace flotilla::bench
