// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <nlohmann/json.hpp>

#include <flotilla/version.hpp>

#include "build_kind.hpp"
#include "report.hpp"

namespace flotilla::bench {

namespace {

constexpr char const* not_comparable =
    "CPU devices run kernels on the processors, so the shares include the work of the kernels, "
    "and the latencies are not those of a GPU";

}  // namespace

std::vector<target> targets_of(report const& report) {
  double blocking = 0;
  double idle = 0;
  for (row const& each : report.rows) {
    if (each.who != "flotilla") { continue; }
    if (each.schedule == wait_policy::blocking) { blocking = each.share_5ms; }
    idle = std::max(idle, each.share_idle);
  }
  return {{"blocking, kernels of 5 ms", blocking, 0.05, report.on_gpus},
          {"idle, with any schedule", idle, 0.001, true}};
}

void print_rows(std::ostream& out, report const& report) {
  out << "device: " << report.device << "\ndriver: " << report.driver
      << "\nprocessors: " << std::thread::hardware_concurrency() << "\n\n";
  char line[256];
  std::snprintf(line, sizeof line, "%-10s %-9s %9s %9s %11s %11s %11s\n", "schedule", "who",
                "p50 us", "p99 us", "% at 50 us", "% at 5 ms", "% idle");
  out << line;
  for (row const& each : report.rows) {
    std::snprintf(line, sizeof line, "%-10s %-9s %9.2f %9.2f %11.1f %11.1f %11.3f\n",
                  to_string(each.schedule).c_str(), each.who.c_str(), each.p50_us, each.p99_us,
                  each.share_50us * 100, each.share_5ms * 100, each.share_idle * 100);
    out << line;
  }
  out << '\n';
  for (target const& each : targets_of(report)) {
    std::snprintf(line, sizeof line, "%s: %.3f %% of a processor, at most %.3g %%: %s\n",
                  each.what.c_str(), each.share * 100, each.max_share * 100,
                  !each.judged                   ? "not comparable"
                  : each.share <= each.max_share ? "met"
                                                 : "NOT MET");
    out << line;
  }
  if (!report.on_gpus) { out << "not comparable: " << not_comparable << '\n'; }
}

void write_rows(std::string const& file, report const& report) {
  using json = nlohmann::ordered_json;
  json rows = json::array();
  for (row const& each : report.rows) {
    rows.push_back({{"schedule", to_string(each.schedule)},
                    {"who", each.who},
                    {"p50_us", each.p50_us},
                    {"p99_us", each.p99_us},
                    {"share_50us", each.share_50us},
                    {"share_5ms", each.share_5ms},
                    {"share_idle", each.share_idle}});
  }
  json targets = json::array();
  for (target const& each : targets_of(report)) {
    targets.push_back({{"what", each.what},
                       {"share", each.share},
                       {"most", each.max_share},
                       {"met", each.judged ? json(each.share <= each.max_share) : json(nullptr)}});
  }
  json const context{{"flotilla", FLOTILLA_VERSION},
                     {"build_type", build_type()},
                     {"device", report.device},
                     {"driver", report.driver},
                     {"processors", std::thread::hardware_concurrency()},
                     {"command", report.command},
                     {"note", report.on_gpus ? "" : not_comparable}};
  std::ofstream out{file};
  // Device names and driver messages can contain invalid UTF-8. Replace the invalid bytes.
  out << json{{"context", context}, {"rows", rows}, {"targets", targets}}.dump(
             1, ' ', false, json::error_handler_t::replace)
      << '\n';
  if (!out.flush()) { throw std::runtime_error{"cannot write the report to " + file}; }
}

}  // namespace flotilla::bench
