// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Computes how heat spreads over a plate, on all devices.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

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

/// Computes the steps, and prints how much was copied. @return the time in seconds.
double compute(flotilla::runtime& rt, options const& chosen, std::vector<band> const& bands,
               field const& start, field& result) {
  flotilla::flow flow{rt, {.memory_limit = chosen.memory_limit}};
  double seconds = 0;
  {
    simulation steps{rt, flow, bands, chosen.alpha, chosen.repeated};
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
      std::printf("device %zu: %llu bytes copied to it\n", i,
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

int run(options const& chosen) {
  if (chosen.compares && chosen.steps == 0) {
    throw std::runtime_error("--compare: there is nothing to measure, because --steps is 0");
  }
  field const start =
      chosen.input.empty() ? make_field(chosen.rows, chosen.columns) : read_field(chosen.input);
  flotilla::runtime rt{{.devices = chosen.devices}};
  std::size_t const count = count_bands(chosen, start, rt.devices().size());
  std::size_t const devices = std::min(rt.devices().size(), count);
  field result = start;
  double const seconds =
      compute(rt, chosen, make_bands(start.rows, start.columns, count, devices), start, result);
  bool right = !chosen.verifies || verify(start, result, chosen);
  if (!chosen.output.empty()) { write_png(chosen.output, result); }
  if (chosen.compares) {
    right = compare(rt, start,
                    {.steps = chosen.steps,
                     .bands = count,
                     .alpha = chosen.alpha,
                     .repeated = chosen.repeated}) &&
            right;
  }
  std::printf("heat: %zu x %zu, %zu step%s, %zu device%s, %.3g s, %.1f GB/s\n", start.rows,
              start.columns, chosen.steps, chosen.steps == 1 ? "" : "s", devices,
              devices == 1 ? "" : "s", seconds, gigabytes(start, chosen.steps) / seconds);
  return right ? 0 : wrong;
}

}  // namespace

int main(int count, char** arguments) {
  command_line const line = parse(count, arguments);
  if (line.exit_status >= 0) { return line.exit_status; }
  try {
    return run(line.chosen);
  } catch (std::exception const& why) {
    std::fprintf(stderr, "heat: %s\n", why.what());
    return not_done;
  }
}
