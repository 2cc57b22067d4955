// flotilla_bench: what `flotilla bench` runs. docs/performance.md says what its rows are.

#include <algorithm>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "build_kind.hpp"
#include "report.hpp"
#include "suite.hpp"

namespace {

using namespace flotilla;

void add_all(bench::suite& to) {
  bench::add_floods(to);
  bench::add_submits(to);
  bench::add_lone_tasks(to);
  bench::add_chain(to);
  bench::add_replay(to);
  bench::add_allocations(to);
  bench::add_lateness(to);
  bench::add_migration(to);
  bench::add_cpu_device(to);
  bench::add_balance(to);
  bench::add_pingpong(to);
  bench::add_lengths(to);
}

/// @throws CLI::ValidationError  naming the one that is none
void check_ids(std::vector<std::string> const& wanted, std::vector<std::string> const& there) {
  for (std::string const& each : wanted) {
    if (std::find(there.begin(), there.end(), each) == there.end()) {
      throw CLI::ValidationError{"--only", "there is no row '" + each + "'; --list names all"};
    }
  }
}

int run(bench::suite& all, std::string const& json, std::string const& command) {
  if (!json.empty()) {  // found out now, not after two minutes
    if (!std::ofstream{json, std::ios::app}) {
      throw std::runtime_error{"cannot write the report to " + json};
    }
  }
  all.run();
  for (auto const& [key, value] : bench::circumstances()) {
    std::cout << key << ": " << value << '\n';
  }
  std::cout << '\n';
  bench::print_table(std::cout, all.results());
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
  CLI::App app{"Measures what dispatching costs, flotilla beside its controls", "flotilla bench"};
  bench::suite::options wanted;
  std::string json;
  bool list = false;
  app.add_option("--json", json, "write the report to this file, too");
  app.add_option("--only", wanted.only, "ids of rows, with commas between")->delimiter(',');
  app.add_option("--seconds", wanted.seconds, "begin no more measurements after so long")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--quick", wanted.quick,
               "as little as there is: shows that it works, measures nothing");
  app.add_flag("--list", list, "print the ids of the rows, and do nothing else");
  CLI11_PARSE(app, argc, argv);

  std::string command = "flotilla bench";
  for (int i = 1; i < argc; ++i) { command += std::string{" "} + argv[i]; }
  try {
    bench::suite all{wanted};
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
