// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string>

namespace block_digest {

namespace {

double percent(std::uint64_t part, std::uint64_t total) {
  return total == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(total);
}
double megabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

// The text says what was verified, and nothing more.
std::string verified_text(result_collector const& results, verification const& verifies) {
  if (verifies.covers_all()) { return " verified"; }
  if (verifies.covers_none()) { return ", none verified"; }
  return ", " + std::to_string(results.verified()) + " verified";
}

}  // namespace

void print_report(flotilla::runtime const& rt, result_collector const& results,
                  verification const& verifies, std::uint64_t failures, std::uint64_t skipped,
                  std::chrono::duration<double> took) {
  double const seconds = std::max(took.count(), 1e-9);
  int width = 4;
  for (flotilla::device const& device : rt.devices()) {
    width = std::max(width, static_cast<int>(device.name.size()));
  }
  std::printf("driver: %s\n\n", rt.driver_text().c_str());
  std::printf("device  %-*s  %10s  %7s  %10s  %10s\n", width, "name", "blocks", "share", "MB/s",
              "tasks/s");
  for (flotilla::device const& device : rt.devices()) {
    block_counts const& share = results.shares()[device.ordinal.value];
    std::printf("%6u  %-*s  %10" PRIu64 "  %5.1f %%  %10.1f  %10.0f\n", device.ordinal.value, width,
                device.name.c_str(), share.blocks, percent(share.blocks, results.all().blocks),
                megabytes(share.bytes) / seconds,
                static_cast<double>(rt.counters(device).tasks) / seconds);
  }
  std::uint64_t const saved = results.all().bytes - results.distinct().bytes;
  std::printf("\ndistinct: %" PRIu64 " of %" PRIu64
              " blocks; deduplication would save %.1f MB (%.1f %%)\n",
              results.distinct().blocks, results.all().blocks, megabytes(saved),
              percent(saved, results.all().bytes));
  if (skipped != 0) {
    std::printf("left out: %" PRIu64 " links, pipes, sockets and devices\n", skipped);
  }
  if (failures != 0) {
    std::printf("failures: %" PRIu64 ", each named on standard error\n", failures);
  }
  std::printf("digest: %" PRIu64 " blocks%s, %" PRIu64 " bytes, %zu devices, %.1f MB/s\n",
              results.all().blocks, verified_text(results, verifies).c_str(), results.all().bytes,
              rt.devices().size(), megabytes(results.all().bytes) / seconds);
}

}  // namespace block_digest
