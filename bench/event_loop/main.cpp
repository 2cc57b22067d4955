// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: how late does an event loop with one thread and no workers, which polls `event_fd`,
//           answer a request, and how much processor time does it use while no request arrives?
// Control:  the same loop with workers, whose continuations write to an eventfd.

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <flotilla/version.hpp>

#include "build_kind.hpp"
#include "machine.hpp"
#include "measure.hpp"

namespace {

using flotilla::bench::row;

void print_rows(std::vector<row> const& rows) {
  std::printf("device: %s\ndriver: %s\ndevices: %zu\nprocessors: %u\n\n",
              flotilla::bench::machine().devices.front().name.c_str(),
              flotilla::bench::machine().text.c_str(), flotilla::bench::machine().devices.size(),
              std::thread::hardware_concurrency());
  std::printf("%-10s %9s %9s %9s %9s %9s\n", "who", "answered", "p50 us", "p99 us", "% busy",
              "% idle");
  for (row const& each : rows) {
    std::printf("%-10s %9zu %9.1f %9.1f %9.2f %9.3f\n", each.who.c_str(), each.answered,
                each.p50_us, each.p99_us, each.share_busy * 100, each.share_idle * 100);
  }
  std::printf("\np99 of event_fd / by_hand: %.2f, at most 1\n", rows[0].p99_us / rows[1].p99_us);
  std::printf("idle: %.3f %% of a processor, at most 1 %%: %s\n", rows[0].share_idle * 100,
              rows[0].share_idle <= 0.01 ? "met" : "NOT MET");
}

void write_rows(std::string const& file, std::vector<row> const& rows) {
  using json = nlohmann::ordered_json;
  json list = json::array();
  for (row const& each : rows) {
    list.push_back({{"who", each.who},
                    {"answered", each.answered},
                    {"p50_us", each.p50_us},
                    {"p99_us", each.p99_us},
                    {"share_busy", each.share_busy},
                    {"share_idle", each.share_idle}});
  }
  json const context{{"flotilla", FLOTILLA_VERSION},
                     {"build_type", flotilla::bench::build_type()},
                     {"device", flotilla::bench::machine().devices.front().name},
                     {"devices", flotilla::bench::machine().devices.size()},
                     {"processors", std::thread::hardware_concurrency()}};
  std::ofstream out{file};
  // Device names can contain invalid UTF-8. Replace the invalid bytes.
  out << json{{"context", context}, {"rows", list}}.dump(1, ' ', false,
                                                         json::error_handler_t::replace)
      << '\n';
  if (!out.flush()) { throw std::runtime_error{"cannot write the report to " + file}; }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace flotilla;
  CLI::App app{"Measures an event loop on all devices of FLOTILLA_DEVICES", "bench_event_loop"};
  std::string json;
  bool quick = false;
  app.add_option("--json", json, "also write the report to this file");
  app.add_flag("--quick", quick, "only check that the program works; the figures are meaningless");
  CLI11_PARSE(app, argc, argv);

  if (auto const why = bench::why_not_measured()) {
    std::cerr << "bench_event_loop refuses to report: this flotilla was " << *why
              << ", build type '" << bench::build_type() << "'. Use the preset `release`.\n";
    return 2;
  }
  try {
    if (!json.empty() && !std::ofstream{json, std::ios::app}) {  // check before the measurements
      throw std::runtime_error{"cannot write the report to " + json};
    }
    auto const rows = bench::measure(quick ? bench::durations::quick() : bench::durations{});
    print_rows(rows);
    if (!json.empty()) { write_rows(json, rows); }
    return std::fflush(stdout) == 0 ? 0 : 1;
  } catch (std::exception const& failure) {
    std::cerr << "bench_event_loop: " << failure.what() << '\n';
    return 1;
  }
}
