// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: how much processor time does a waiting thread use, and how late does the thread see the
//           end of a task? Measured for each wait policy.
// Control:  launches and cuStreamSynchronize in a context with the same scheduling flag.

#include <exception>
#include <fstream>
#include <iostream>

#include <CLI/CLI.hpp>

#include "build_kind.hpp"
#include "cached_fixture.hpp"
#include "machine.hpp"
#include "report.hpp"

int main(int argc, char** argv) {
  using namespace flotilla;
  CLI::App app{
      "Measures the cost of waiting for each wait policy, on the first device of FLOTILLA_DEVICES",
      "bench_waiting"};
  std::string json;
  bool quick = false;
  app.add_option("--json", json, "also write the report to this file");
  app.add_flag("--quick", quick, "only check that the program works; the figures are meaningless");
  CLI11_PARSE(app, argc, argv);

  if (auto const why = bench::why_not_measured()) {
    std::cerr << "bench_waiting refuses to report: this flotilla was " << *why << ", build type '"
              << bench::build_type() << "'. Use the preset `release`.\n";
    return 2;
  }
  try {
    if (!json.empty() && !std::ofstream{json, std::ios::app}) {  // check before the measurements
      throw std::runtime_error{"cannot write the report to " + json};
    }
    bench::durations const durations = quick ? bench::durations::quick() : bench::durations{};
    bench::report report{.rows = {},
                         .on_gpus = bench::machine().api->kind == device_kind::gpu,
                         .device = bench::machine().devices.front().name,
                         .driver = bench::machine().text,
                         .command = "bench_waiting"};
    for (int i = 1; i < argc; ++i) { report.command += std::string{" "} + argv[i]; }
    for (wait_policy const policy :
         {wait_policy::spin, wait_policy::yield, wait_policy::blocking, wait_policy::automatic}) {
      report.rows.push_back(bench::measure_flotilla(policy, durations));
      report.rows.push_back(bench::measure_driver(policy, durations));
    }
    bench::drop_fixture();
    bench::print_rows(std::cout, report);
    if (!json.empty()) { bench::write_rows(json, report); }
    return std::cout.flush() ? 0 : 1;
  } catch (std::exception const& failure) {
    std::cerr << "bench_waiting: " << failure.what() << '\n';
    return 1;
  }
}
