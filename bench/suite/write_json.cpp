#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "report.hpp"
#include "suite.hpp"

namespace flotilla::bench {

namespace {

using json = nlohmann::ordered_json;

json or_null(std::optional<double> value) { return value ? json(*value) : json(nullptr); }

json row_of(row_result const& from) {
  bool const time = from.unit == "ns";
  json made{{"id", from.id},
            {"ns", time ? or_null(from.value) : json(nullptr)},
            {"control", from.control},
            {"control_ns", or_null(from.control_value)},
            {"ratio", or_null(from.ratio)},
            {"target", or_null(from.target)},
            {"met", from.met ? json(*from.met) : json(nullptr)},
            {"of", to_string(from.of)},
            {"target_of", from.target_is_ratio ? "ratio" : from.unit},
            {"spread", or_null(from.spread)},
            {"p50_ns", or_null(from.p50)},
            {"p99_ns", or_null(from.p99)},
            {"p999_ns", or_null(from.p999)},
            {"judged", from.judged},
            {"note", from.note}};
  if (!time) { made[from.unit] = or_null(from.value); }
  return made;
}

json figure_of(figure const& from) {
  json made{{"name", from.name},
            {"who", from.of.who},
            {"what", from.of.what},
            {"producers", from.of.producers},
            {"devices", from.of.devices},
            {"backlog", from.of.backlog},
            {"length_us", from.of.length_us},
            {"unit", from.unit}};
  if (!from.measured()) {
    made["why_not"] = from.why_not;
    return made;
  }
  made["middle"] = from.middle();
  made["passes"] = from.passes;
  made["spread"] = from.spread();
  if (!from.each.empty()) {
    // The distribution: what so many parts in a thousand of the tasks took at most.
    json quantiles = json::array();
    for (int part = 0; part <= 1000; part += part < 900 ? 10 : 1) {
      quantiles.push_back({part / 1000.0, from.quantile(part / 1000.0)});
    }
    made["quantiles"] = std::move(quantiles);
  }
  if (!from.note.empty()) { made["note"] = from.note; }
  return made;
}

}  // namespace

void write_json(std::string const& file, suite const& of, std::string const& command) {
  json context;
  for (auto const& [key, value] : circumstances()) { context[key] = value; }
  context["command"] = command;
  context["passes"] = of.amount().passes;
  context["seconds"] = of.seconds();
  json rows = json::array();
  for (row_result const& each : of.results()) { rows.push_back(row_of(each)); }
  json figures = json::array();
  for (figure const& each : of.figures()) {
    if (each.measured() || !each.why_not.empty()) { figures.push_back(figure_of(each)); }
  }
  std::ofstream out{file};
  // Names of devices and messages of drivers are not ours: a byte that is no UTF-8 is replaced.
  out << json{{"context", context}, {"rows", rows}, {"figures", figures}}.dump(
             1, ' ', false, json::error_handler_t::replace)
      << '\n';
  if (!out.flush()) { throw std::runtime_error{"cannot write the report to " + file}; }
}

}  // namespace flotilla::bench
