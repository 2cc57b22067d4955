// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The program flotilla_bench, which `flotilla bench` runs. docs/performance.md lists its rows.

#include <algorithm>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench_suite.hpp"
#include "build_kind.hpp"
#include "patterns_main.hpp"
#include "report.hpp"

namespace {

using namespace flotilla;

/// New rows must be added at the end. Then each older row runs after the same fixtures in every
/// version, and its figures can be compared between versions.
void add_all(bench::bench_suite& suite) {
  bench::add_floods(suite);
  bench::add_submits(suite);
  bench::add_c_submits(suite);
  bench::add_lone_tasks(suite);
  bench::add_chain(suite);
  bench::add_replay(suite);
  bench::add_allocations(suite);
  bench::add_lateness(suite);
  bench::add_migration(suite);
  bench::add_cpu_device(suite);
  bench::add_balance(suite);
  bench::add_pingpong(suite);
  bench::add_lengths(suite);
  bench::add_named_floods(suite);
  bench::add_single_thread(suite);
  bench::add_submit_threads(suite);
  bench::add_wait_policies(suite);
  bench::add_callables(suite);
  bench::add_peer_copies(suite);
  bench::add_bulks(suite);
  bench::add_halo(suite);
  bench::add_mixed(suite);
  bench::add_copies(suite);
  bench::add_pipeline(suite);
  bench::add_pageable(suite);
  bench::add_made_recording(suite);
  bench::add_slowdown(suite);
  bench::add_flows(suite);
}

/// @throws CLI::ValidationError  An id is unknown. The message names the id.
void check_ids(std::vector<std::string> const& wanted, std::vector<std::string> const& known) {
  for (std::string const& each : wanted) {
    if (std::find(known.begin(), known.end(), each) == known.end()) {
      throw CLI::ValidationError{"--only", "there is no row '" + each + "'; --list prints all ids"};
    }
  }
}

int run(bench::bench_suite& all, std::string const& json, std::string const& command) {
  if (!json.empty()) {  // check now: the measurements take three minutes
    if (!std::ofstream{json, std::ios::app}) {
      throw std::runtime_error{"cannot write the report to " + json};
    }
  }
  if (all.is_quick()) { std::cout << bench::quick_heading << std::endl; }
  all.run();
  for (auto const& [key, value] : bench::run_context()) {
    std::cout << key << ": " << value << '\n';
  }
  std::cout << '\n';
  if (all.is_quick()) {
    bench::print_check(std::cout, all.results());
  } else {
    bench::print_table(std::cout, all.results());
  }
  if (!json.empty()) { bench::write_json(json, all, command); }
  bool failed = false;
  for (bench::figure const& each : all.figures()) {
    if (each.failed) {
      std::cerr << "flotilla_bench: " << each.name << ' ' << each.why_not << '\n';
      failed = true;
    }
  }
  return std::cout.flush() && !failed ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (bench::selects_patterns(argc, argv)) {
    return bench::run_patterns(argc, argv, bench::run_context);
  }
  CLI::App app{
      "Measures the cost of dispatching tasks with flotilla, and compares it with controls",
      "flotilla bench"};
  bench::bench_suite::options wanted;
  std::string suite = "dispatch";
  std::string json;
  bool list = false;
  app.add_option("--suite", suite,
                 "dispatch: the cost of dispatching tasks; patterns: dependent tasks, which has "
                 "its own options: see --suite patterns --help")
      ->check(CLI::IsMember({"dispatch", "patterns"}))
      ->capture_default_str();
  app.add_option("--json", json, "also write the report to this file");
  app.add_option("--only", wanted.only, "measure only these rows: ids, separated by commas")
      ->delimiter(',');
  app.add_option("--seconds", wanted.seconds, "start no measurement after this many seconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--quick", wanted.quick, "only check that the rows work, and print no figures");
  app.add_flag("--list", list, "print the ids of all rows and measure nothing");
  CLI11_PARSE(app, argc, argv);

  std::string command = "flotilla bench";
  for (int i = 1; i < argc; ++i) { command += std::string{" "} + argv[i]; }
  try {
    bench::bench_suite all{wanted};
    add_all(all);
    std::vector<std::string> const ids = all.ids();
    if (list) {
      for (std::string const& each : ids) { std::cout << each << '\n'; }
      return std::cout.flush() ? 0 : 1;
    }
    check_ids(wanted.only, ids);
    if (auto const why = bench::why_not_measured()) {
      std::cerr << "flotilla_bench refuses to report: this flotilla was " << *why
                << ", build type '" << bench::build_type() << "'. Use the preset `release`.\n";
      return 2;
    }
    return run(all, json, command);
  } catch (CLI::Error const& wrong) {
    return app.exit(wrong);
  } catch (std::exception const& failure) {
    std::cerr << "flotilla_bench: " << failure.what() << '\n';
    return 1;
  }
}
