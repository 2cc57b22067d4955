// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture of tests on chunks: items of a bulk that are one task and are launched as one grid.

#include <cstdint>
#include <tuple>
#include <vector>

#include <flotilla/task/bulk.hpp>

#include "support/batch_count.hpp"
#include "support/launch_gate.hpp"

namespace flotilla::test {

class chunk_test : public contract_test {
 protected:
  using word = std::uint32_t;
  using counting = kernel<word*, word>;
  // A bulk with so many items has chunks if its kernel was measured.
  static constexpr std::size_t n = 300;

  /// A kernel that counts in counters[id].
  counting count() { return program().loaded.kernel<word*, word>("count_id"); }
  device_buffer<word> zeros(std::size_t size, device_ordinal device) {
    return {rt(), device, std::span<word const>{std::vector<word>(size)}};
  }
  std::vector<word> read(device_buffer<word> const& from) {
    std::vector<word> values(from.size());
    rt().submit(from.copy_to(std::span{values})).wait();
    return values;
  }
  static std::vector<word> ones(std::size_t size) { return std::vector<word>(size, 1); }
  /// Runs `make(device)` on every device until the device has measured its kernel.
  template <class Make>
  void measure(Make const& make) {
    for (device_ordinal const device : ordinals()) {
      for (int i = 0; i < 8; ++i) { rt().submit(make(device), {.device = device}).wait(); }
    }
    rt().wait_idle();  // a ticket is ready a little before the counters contain its task
  }
  void measure_count() {
    host_buffer<word> counter{rt(), 1};
    counter[0] = 0;
    counting const kernel = count();
    measure([&](device_ordinal) { return kernel.over(1, 1)(counter.data(), 0u); });
  }
  void measure_add() {
    host_buffer<word> sum{rt(), 1};
    sum[0] = 0;
    measure([&](device_ordinal) { return program().add.over(1, 1)(sum.data(), 1u); });
  }
  void measure_nothing() {
    measure([&](device_ordinal) { return program().nothing.over(1, 1)(); });
  }
  std::uint64_t sum_of(std::uint64_t device_counters::*counter) {
    return test::sum_of(rt(), counter);
  }
  template <class Run>
  [[nodiscard]] bool needs_few_batches(std::uint64_t max, Run const& run) {
    return test::needs_few_batches(rt(), max, run);
  }
};

}  // namespace flotilla::test
