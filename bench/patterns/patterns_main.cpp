// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "patterns_main.hpp"

#include <algorithm>
#include <exception>
#include <fstream>
#include <iostream>
#include <string_view>

#include <CLI/CLI.hpp>

#include "build_kind.hpp"
#include "distribution.hpp"
#include "machine.hpp"
#include "pattern.hpp"
#include "pattern_rows.hpp"
#include "patterns_report.hpp"
#include "patterns_run.hpp"

namespace flotilla::bench {

namespace {

using description = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> pattern_ids() {
  std::vector<std::string> ids;
  for (pattern const& each : all_patterns()) { ids.emplace_back(each.name); }
  ids.insert(ids.end(), {"fan_in", "fan_out"});
  return ids;
}

/// The arguments of the command line.
struct arguments {
  patterns_options options{};
  std::string suite{};
  std::string json{};
  bool list = false;
};

void add_options(CLI::App& app, arguments& all) {
  patterns_options& to = all.options;
  app.add_option("--suite", all.suite, "patterns");
  app.add_option("--only", to.only,
                 "measure only what these rows need: ids, separated by commas; see --list")
      ->delimiter(',');
  app.add_option("--patterns", to.patterns, "measure only these patterns, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(pattern_ids()));
  app.add_option("--variants", to.variants, "measure only these variants, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(variant_ids()));
  app.add_option("--widths", to.widths, "numbers of points")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--fans", to.fans, "numbers of edges in a round of fan_in and fan_out")
      ->delimiter(',')
      ->check(CLI::Range(1, 8192))
      ->capture_default_str();
  app.add_option("--kernels", to.kernels,
                 "kernel lengths in us (default: 0,1,5,20,100; on CPU devices 0,1,5)")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 100000.0));
  app.add_option("--steps", to.steps, "number of steps; 0: each row below about 0.1 s")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  app.add_option("--repetitions", to.repetitions, "runs of each variant; the median is printed")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seed", to.seed, "seed of the pattern random and of irregular lengths")
      ->capture_default_str();
  app.add_option("--devices", to.devices,
                 "number of devices; with 2, each runs one half of the points")
      ->check(CLI::Range(1, max_devices))
      ->capture_default_str();
  app.add_option("--workers", to.workers, "workers of flotilla's runtime; -1: its default")
      ->check(CLI::Range(-1, 1024))
      ->capture_default_str();
  app.add_flag("--irregular", to.irregular,
               "also measure every pattern with lengths from 1 us to 50 us");
  app.add_flag("--metg", to.metg, "also search for the METG of flotilla and of streams by hand");
  app.add_option("--seconds", to.seconds, "start no measurement after this many seconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--quick", to.quick, "only check that the rows work, and print no figures");
  app.add_option("--json", all.json, "also write the report to this file");
  app.add_flag("--list", all.list, "print all patterns and variants and measure nothing");
}

/// Completes the options with what follows from other options.
/// @throws CLI::ValidationError  `--only` names a row that does not exist.
void resolve(CLI::App const& app, patterns_options& options) {
  std::vector<std::string> const rows = row_ids(options.devices);
  for (std::string const& each : options.only) {
    if (std::find(rows.begin(), rows.end(), each) == rows.end()) {
      throw CLI::ValidationError{"--only", "there is no row '" + each + "' with --devices " +
                                               std::to_string(options.devices) +
                                               "; --list prints all rows"};
    }
  }
  if (!options.only.empty() && options.metg) {
    if (options.devices == 1) { options.only.emplace_back(metg_row); }
    options.metg = false;
  }
  for (char const* const each : {"--patterns", "--widths", "--fans", "--kernels", "--steps"}) {
    options.filtered = options.filtered || app.count(each) != 0;
  }
}

/// Smaller defaults for --quick.
void shrink(CLI::App const& app, patterns_options& options) {
  if (app.count("--widths") == 0) { options.widths = {1, 12}; }
  if (app.count("--fans") == 0) { options.fans = {12}; }
  if (app.count("--kernels") == 0) { options.kernels = {0, 2}; }
}

/// @throws CLI::ValidationError  A graph would be too large for the memory of the host.
void check_size(patterns_options const& options) {
  constexpr std::uint64_t max_tasks = std::uint64_t{1} << 22;
  for (std::uint64_t const width : options.widths) {
    if (width * options.steps > max_tasks) {
      throw CLI::ValidationError{"--steps", std::to_string(options.steps) + " steps of width " +
                                                std::to_string(width) + " are more than " +
                                                std::to_string(max_tasks) + " tasks"};
    }
  }
}

int list() {
  for (pattern const& each : all_patterns()) {
    std::cout << "pattern " << each.name << ": " << each.text << '\n';
  }
  std::cout << "pattern fan_in: one task after many\npattern fan_out: many tasks after one\n";
  for (variant_name const& each : all_variants()) {
    std::cout << "variant " << each.id << ": " << each.text << '\n';
  }
  for (int const devices : {1, 2}) {
    for (std::string const& each : row_ids(devices)) {
      std::cout << "row " << each << (devices == 2 ? ": with --devices 2\n" : "\n");
    }
  }
  return std::cout.flush() ? 0 : 1;
}

int measure_all(arguments const& all, description context) {
  if (!all.json.empty() && !std::ofstream{all.json, std::ios::app}) {  // before the measurements
    throw std::runtime_error{"cannot write the report to " + all.json};
  }
  std::size_t const available = machine().devices.size();
  if (available < static_cast<std::size_t>(all.options.devices)) {
    throw std::runtime_error{"--devices " + std::to_string(all.options.devices) +
                             " needs as many devices, but there is " + std::to_string(available)};
  }
  if (all.options.quick) { std::cout << quick_heading << '\n'; }
  for (auto const& [key, value] : context) { std::cout << key << ": " << value << '\n'; }
  std::cout.flush();
  bool const on_gpus = machine().api->kind == device_kind::gpu;
  patterns_run run{all.options, std::cout, [&](patterns_results const& results) {
                     if (all.json.empty()) { return; }
                     write_patterns_json(all.json, context, all.options, results, on_gpus);
                   }};
  run.run();
  if (all.options.quick) {
    std::cout << "--quick only checks that the rows work; run without --quick to measure\n";
  }
  return std::cout.flush() ? 0 : 1;
}

}  // namespace

bool selects_patterns(int argc, char const* const* argv) {
  for (int i = 1; i < argc; ++i) {
    std::string_view const each = argv[i];
    if (each == "--suite=patterns") { return true; }
    if (each == "--suite" && i + 1 < argc && std::string_view{argv[i + 1]} == "patterns") {
      return true;
    }
  }
  return false;
}

int run_patterns(int argc, char** argv, std::function<description()> const& context) {
  CLI::App app{"Measures dependent tasks with flotilla, and compares it with controls",
               "flotilla bench --suite patterns"};
  arguments all;
  add_options(app, all);
  CLI11_PARSE(app, argc, argv);
  try {
    check_size(all.options);
    resolve(app, all.options);
    if (all.list) { return list(); }
    if (auto const why = why_not_measured()) {
      std::cerr << "flotilla_bench refuses to report: this flotilla was " << *why
                << ", build type '" << build_type() << "'. Use the preset `release`.\n";
      return 2;
    }
    if (all.options.quick) { shrink(app, all.options); }
    description about = context();
    std::string command = "flotilla bench";
    for (int i = 1; i < argc; ++i) { command += std::string{" "} + argv[i]; }
    about.emplace_back("command", command);
    return measure_all(all, std::move(about));
  } catch (CLI::Error const& wrong) {
    return app.exit(wrong);
  } catch (std::exception const& failure) {
    std::cerr << "flotilla_bench: " << failure.what() << '\n';
    return 1;
  }
}

}  // namespace flotilla::bench
