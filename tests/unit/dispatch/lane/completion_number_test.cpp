// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Completion numbers have 64 bits. So nothing special must happen when a number exceeds 32 bits.

#include <flotilla/flotilla.hpp>

#include <cstdint>
#include <vector>

#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/inside.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

class CompletionNumber : public guest_test {};

// requirement
TEST_F(CompletionNumber, TasksRunOnceWhenNumbersPass32Bits) {
  constexpr unsigned tasks = 200;
  runtime rt{make_runtime({.devices = device_spec(1), .workers = 0},
                          {.first_completion_number = (std::uint64_t{1} << 32) - 20})};
  program const loaded = rt.load(test_image());
  auto const count = loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  device_buffer<std::uint32_t> counters{rt, device_ordinal{0}, tasks};
  rt.submit(counters.fill(0)).wait();
  for (std::uint32_t round = 1; round <= 30; ++round) {
    std::vector<ticket> open;
    for (unsigned i = 0; i < tasks; ++i) {
      open.push_back(rt.submit(count.with_shape({1}, {1})(counters, i)));
    }
    for (ticket const& each : open) { each.wait(); }
    std::vector<std::uint32_t> ran(tasks);
    rt.submit(counters.copy_to(ran)).wait();
    ASSERT_EQ(ran, std::vector<std::uint32_t>(tasks, round));
  }
}

}  // namespace
}  // namespace flotilla::test
