// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Computes how heat spreads over a plate, on all devices, with --mpi on those of all ranks.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "../team/run_over_mpi.hpp"
#include "bands.hpp"
#include "comparison.hpp"
#include "exit_status.hpp"
#include "field.hpp"
#include "options.hpp"
#include "png_file.hpp"
#include "serial.hpp"
#include "simulation.hpp"

namespace {

using namespace heat;

/// Returns the number of bands that the options name, or four for each device: so a device computes
/// one band while the edges of the other one are copied.
std::size_t count_bands(options const& chosen, field const& start, std::size_t devices) {
  if (chosen.bands > start.rows) {
    throw std::runtime_error("--bands: " + std::to_string(chosen.bands) +
                             " bands need as many rows, but the field has " +
                             std::to_string(start.rows));
  }
  return chosen.bands != 0 ? chosen.bands : std::min(4 * devices, start.rows);
}

/// Returns how many bytes the flow has copied to each device.
std::vector<std::uint64_t> copied_bytes(flotilla::runtime const& rt, flotilla::flow const& flow) {
  std::vector<std::uint64_t> made;
  for (flotilla::device const& each : rt.devices()) {
    flotilla::flow_counters const seen = flow.counters(each.ordinal);
    made.push_back(seen.bytes_from_host + seen.bytes_from_devices);
  }
  return made;
}

/// Computes the steps, and prints how much was copied. Rank 0 gets the result.
/// @return the time in seconds.
double compute(samples::team const& team, options const& chosen, std::vector<band> const& bands,
               field const& start, field& result) {
  flotilla::runtime& rt = team.runtime();
  flotilla::flow flow = team.make_flow({.memory_limit = chosen.memory_limit});
  double seconds = 0;
  {
    simulation steps{team, flow, bands, chosen.alpha, chosen.repeated};
    // The first steps load the kernel and allocate memory.
    steps.start(start);
    steps.advance(2);
    steps.wait();
    steps.start(start);
    std::vector<std::uint64_t> const before = copied_bytes(rt, flow);
    auto const begin = std::chrono::steady_clock::now();
    steps.advance(chosen.steps);
    steps.wait();
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    steps.check();
    std::vector<std::uint64_t> const after = copied_bytes(rt, flow);
    for (std::size_t i = 0; i < after.size(); ++i) {
      std::printf("%sdevice %zu: %llu bytes copied to it\n", team.rank_text().c_str(), i,
                  static_cast<unsigned long long>(after[i] - before[i]));
    }
    steps.copy_to(result);
  }
  rt.wait_idle();
  return seconds;
}

/// @return whether the result has the bits of a serial computation.
bool verify(field const& start, field const& result, options const& chosen) {
  field const expected = compute_serially(start, chosen.steps, chosen.alpha);
  auto const at = first_difference(expected, result);
  if (!at) {
    std::printf("verified: all %zu cells equal a serial computation\n", result.values.size());
    return true;
  }
  std::fprintf(stderr, "heat: row %zu, column %zu is %.9g, but must be %.9g\n",
               *at / result.columns, *at % result.columns, static_cast<double>(result.values[*at]),
               static_cast<double>(expected.values[*at]));
  return false;
}

/// Every rank calls this function. Rank 0 checks and writes the result.
/// @param start  Must outlive the runtime: after an exception, host tasks may still read it.
int run(options const& chosen, field const& start, samples::team const& team) {
  if (chosen.compares && team.ranks() > 1) {
    throw std::runtime_error("--compare: it measures one rank, but --mpi has found " +
                             std::to_string(team.ranks()));
  }
  std::vector<samples::place> const places = team.places();
  std::size_t const count = count_bands(chosen, start, places.size());
  std::size_t const devices = std::min(places.size(), count);
  field result = start;
  double const seconds = compute(
      team, chosen, make_bands(start.rows, start.columns, count, std::span{places}.first(devices)),
      start, result);
  return team.on_first([&] {
    bool right = !chosen.verifies || verify(start, result, chosen);
    if (!chosen.output.empty()) { write_png(chosen.output, result); }
    if (chosen.compares) {
      right = compare(team.runtime(), start,
                      {.steps = chosen.steps,
                       .bands = count,
                       .alpha = chosen.alpha,
                       .repeated = chosen.repeated}) &&
              right;
    }
    std::printf("heat: %zu x %zu, %zu step%s, %s%zu device%s, %.3g s, %.1f GB/s\n", start.rows,
                start.columns, chosen.steps, chosen.steps == 1 ? "" : "s",
                team.ranks_text().c_str(), devices, devices == 1 ? "" : "s", seconds,
                gigabytes(start, chosen.steps) / seconds);
    return right ? 0 : wrong;
  });
}

}  // namespace

int main(int count, char** arguments) {
  command_line const line = parse(count, arguments);
  if (line.exit_status >= 0) { return line.exit_status; }
  options const& chosen = line.chosen;
  try {
    if (chosen.compares && chosen.steps == 0) {
      throw std::runtime_error("--compare: there is nothing to measure, because --steps is 0");
    }
    field const start =
        chosen.input.empty() ? make_field(chosen.rows, chosen.columns) : read_field(chosen.input);
    auto const program = [&](samples::team const& team) { return run(chosen, start, team); };
    if (chosen.uses_mpi) {
      return samples::run_over_mpi("heat", chosen.devices, program, not_done);
    }
    flotilla::runtime rt{{.devices = chosen.devices}};
    return program(samples::team{rt});
  } catch (std::exception const& why) {
    std::fprintf(stderr, "heat: %s\n", why.what());
    return not_done;
  }
}
