#include "report.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace block_digest {

namespace {

double percent(std::uint64_t part, std::uint64_t of) {
  return of == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(of);
}
double megabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

}  // namespace

void print_report(flotilla::runtime const& rt, ledger const& book, std::uint64_t failures,
                  std::uint64_t left_out, std::chrono::duration<double> took) {
  double const seconds = std::max(took.count(), 1e-9);
  int width = 4;
  for (flotilla::device const& each : rt.devices()) {
    width = std::max(width, static_cast<int>(each.name.size()));
  }
  std::printf("driver: %s\n\n", rt.driver_text().c_str());
  std::printf("device  %-*s  %10s  %7s  %10s  %10s\n", width, "name", "blocks", "share", "MB/s",
              "tasks/s");
  for (flotilla::device const& each : rt.devices()) {
    device_share const& share = book.shares()[each.ordinal.value];
    std::printf("%6u  %-*s  %10" PRIu64 "  %5.1f %%  %10.1f  %10.0f\n", each.ordinal.value, width,
                each.name.c_str(), share.blocks, percent(share.blocks, book.blocks()),
                megabytes(share.bytes) / seconds,
                static_cast<double>(rt.counters(each).tasks) / seconds);
  }
  std::uint64_t const saved = book.bytes() - book.distinct_bytes();
  std::printf(
      "\ndistinct: %" PRIu64 " of %" PRIu64 " blocks; deduplication would save %.1f MB (%.1f %%)\n",
      book.distinct_blocks(), book.blocks(), megabytes(saved), percent(saved, book.bytes()));
  if (left_out != 0) {
    std::printf("left out: %" PRIu64 " links, pipes, sockets and devices\n", left_out);
  }
  if (failures != 0) {
    std::printf("failures: %" PRIu64 ", each named on standard error\n", failures);
  }
  std::printf("digest: %" PRIu64 " blocks verified, %" PRIu64 " bytes, %zu devices, %.1f MB/s\n",
              book.blocks(), book.bytes(), rt.devices().size(), megabytes(book.bytes()) / seconds);
}

}  // namespace block_digest
