// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Describes the machine and the build for the report.

#include <benchmark/benchmark.h>

#include <fstream>
#include <thread>

#include <flotilla/version.hpp>

#include "build_kind.hpp"
#include "machine.hpp"
#include "report.hpp"

namespace flotilla::bench {

namespace {

std::string processor() {
  std::ifstream info{"/proc/cpuinfo"};
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) {
      auto const colon = line.find(": ");
      if (colon != std::string::npos) { return line.substr(colon + 2); }
    }
  }
  return "unknown";
}

std::string load() {
  double averages[1] = {0};
  return getloadavg(averages, 1) == 1 ? std::to_string(averages[0]) : "unknown";
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

}  // namespace

std::vector<std::pair<std::string, std::string>> run_context() {
  context::choice const& machine = bench::machine();
  std::string names;
  for (device const& each : machine.devices) { names += (names.empty() ? "" : "; ") + each.name; }
  int version = 0;
  std::string const driver_version = machine.api->driver_get_version(&version) == CUDA_SUCCESS
                                         ? std::to_string(version)
                                         : "unknown";
  char date[32] = "";
  std::time_t const now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return {{"flotilla", FLOTILLA_VERSION},
          {"date", date},
          {"devices", names},
          {"driver", machine.text},
          {"driver_version", driver_version},
          {"cpu", processor()},
          {"cpus", std::to_string(std::thread::hardware_concurrency())},
          {"load", load()},
          {"build_type", build_type()},
          {"compiler", compiler()},
          {"flags", FLOTILLA_BENCH_FLAGS}};
}

}  // namespace flotilla::bench
