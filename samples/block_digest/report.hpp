// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Prints the results of the job for people.

#include <chrono>
#include <cstdint>

#include <flotilla/flotilla.hpp>

#include "result_collector.hpp"
#include "verification.hpp"

namespace block_digest {

/// Prints a table of the devices, the bytes in duplicate blocks, the number of skipped entries, and
/// the line that begins with "digest:", which says how many blocks were verified. 1 MB is 10^6
/// bytes. Rates are averages over the whole job.
void print_report(flotilla::runtime const& rt, result_collector const& results,
                  verification const& verifies, std::uint64_t failures, std::uint64_t skipped,
                  std::chrono::duration<double> took);

}  // namespace block_digest
