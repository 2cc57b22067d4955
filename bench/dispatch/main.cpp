// Runs the rows. Options are Google Benchmark's; docs/performance.md says which are of use.

#include <benchmark/benchmark.h>

#include <exception>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <flotilla/version.hpp>

#include "build_kind.hpp"
#include "machine.hpp"
#include "rig.hpp"

namespace {

using namespace flotilla;

/// Whatever a figure depends on goes with it.
void describe_the_run() {
  context::choice const& machine = bench::machine();
  std::string names;
  for (device const& each : machine.devices) { names += (names.empty() ? "" : "; ") + each.name; }
  benchmark::AddCustomContext("flotilla_version", FLOTILLA_VERSION);
  benchmark::AddCustomContext("flotilla_build_type", bench::build_type());
  benchmark::AddCustomContext("flotilla_driver", machine.text);
  benchmark::AddCustomContext("flotilla_devices", names);
  benchmark::AddCustomContext(
      "flotilla_workers",
      std::to_string(bench::workers_for(static_cast<int>(machine.devices.size()))) +
          " with all devices, in rows that name no count");
  benchmark::AddCustomContext("flotilla_cpus", std::to_string(std::thread::hardware_concurrency()));
}

}  // namespace

int main(int argc, char** argv) {
  if (auto const why = bench::why_not_measured()) {
    std::cerr << argv[0] << " refuses to report: this flotilla was " << *why << ", build type '"
              << bench::build_type() << "'. Use the preset `release`.\n";
    return 2;
  }
  // A figure without its spread is none. What the user gives comes later, and wins.
  std::string repetitions = "--benchmark_repetitions=5";
  std::string aggregates = "--benchmark_display_aggregates_only=true";
  std::string least_time = "--benchmark_min_time=0.2";
  std::vector<char*> arguments{argv[0], repetitions.data(), aggregates.data(), least_time.data()};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);

  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) { return 1; }
  try {
    describe_the_run();
    std::size_t const rows = benchmark::RunSpecifiedBenchmarks();
    bench::drop_rig();
    if (rows == 0) { return 1; }  // Google Benchmark has said that no row matches
  } catch (std::exception const& why) {
    std::cerr << argv[0] << ": " << why.what() << '\n';
    return 1;
  }
  benchmark::Shutdown();
  return 0;
}
