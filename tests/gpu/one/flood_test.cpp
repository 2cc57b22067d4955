// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Floods with so many tasks that flotilla uses device-updated templates.

#include <cstdint>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

class FloodOnGpu : public guest_test {
 protected:
  void SetUp() override {
    FLOTILLA_NEED_DEVICES(1);
    guest_test::SetUp();
  }
};

// requirement: every task of a flood runs once, with its own arguments, grid and block
TEST_F(FloodOnGpu, EveryTaskRunsAsItWasSubmitted) {
  constexpr std::uint32_t sums = 997;
  runtime rt{{.devices = device_spec(1), .workers = 1}};
  test_program const program{rt};
  auto const count = program.loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  device_buffer<std::uint32_t> counters{rt, device_ordinal{0}, sums};
  for (std::uint32_t round = 0; round < 6; ++round) {
    std::vector<std::uint32_t> expected(sums);
    rt.submit(counters.fill(0)).wait();
    for (std::uint32_t i = 0; i < 50'000 + round; ++i) {
      std::uint32_t const grid = 1 + i / 100 % 3;
      std::uint32_t const block = i / 20'000 == 1 ? 64 : 32;
      std::uint32_t const index = (i * 2654435761u >> 12) % sums;
      static_cast<void>(rt.submit(count.with_shape({grid}, {block})(counters, index)));
      expected[index] += grid * block;
    }
    rt.wait_idle();
    std::vector<std::uint32_t> got(sums);
    rt.submit(counters.copy_to(got)).wait();
    ASSERT_EQ(got, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace flotilla::test
