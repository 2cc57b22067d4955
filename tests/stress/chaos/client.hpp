// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A client of devices that may be lost at any time.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "support/kernels.hpp"

namespace flotilla::test::chaos {

using word = std::uint32_t;

/// How a task ended. `other` is an error that no loss explains, or no end.
enum class ending { well, lost, dependency, other };

/// Waits for a task.
[[nodiscard]] ending ending_of(ticket const& task);

/// The totals of all clients.
struct totals {
  std::atomic<std::uint64_t> tasks{0}, lost{0};
};

/// Submits tasks whose results are known in advance, in rounds, and checks each round. For one
/// thread.
class client {
 public:
  client(runtime& rt, test_program const& program, unsigned seed, totals& all)
      : rt_(rt), count_(program.loaded.kernel<word*, word>("count_id")), random_(seed), all_(all) {}

  void run_until(std::chrono::steady_clock::time_point end);

 private:
  [[nodiscard]] device_ordinal any_device();
  /// Makes a buffer of zeros on a device that may be lost at this moment.
  [[nodiscard]] std::optional<device_buffer<word>> zeros(std::size_t size, device_ordinal device);
  /// Reads a buffer whose device may be lost at this moment.
  [[nodiscard]] std::optional<std::vector<word>> read(device_buffer<word> const& from);
  /// Checks a task that must not run more often than `most` times.
  void note(ending how, word ran, word most = 1);

  /// Tasks without an order. Each counts in a word of its own.
  void flood();
  /// A chain over devices.
  void chain();
  /// Copies run again, so their results are right unless they were suspects twice.
  void copies();
  /// A bulk, half of the time a repeatable one.
  void bulk_of_items();

  runtime& rt_;
  kernel<word*, word> count_;
  std::mt19937 random_;
  totals& all_;
};

}  // namespace flotilla::test::chaos
