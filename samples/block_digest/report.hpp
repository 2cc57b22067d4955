#pragma once
/// What the job found, for people.

#include <chrono>
#include <cstdint>

#include <flotilla/flotilla.hpp>

#include "ledger.hpp"

namespace block_digest {

/// Prints a table of the devices, what duplicates take, what was left out, and the line that begins
/// with "digest:". MB are 10^6 bytes; rates are over the whole time of the job.
void print_report(flotilla::runtime const& rt, ledger const& book, std::uint64_t failures,
                  std::uint64_t left_out, std::chrono::duration<double> took);

}  // namespace block_digest
