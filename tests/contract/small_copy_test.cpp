// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Bursts of small copies and fills. On GPUs they share grids with each other.

#include "support/contract_test.hpp"
#include "support/scale.hpp"
#include "support/small_copies.hpp"

namespace flotilla::test {
namespace {

class SmallCopies : public contract_test {};
INSTANTIATE_TEST_SUITE_P(all_tbb_threads, SmallCopies,
                         ::testing::Values(arrangement{1, 0, tbb_threads::all},
                                           arrangement{2, 2, tbb_threads::all}),
                         arrangement_name);

// requirement: copies of every size and alignment are correct: to and from pinned memory, within a
// device, and between devices
TEST_P(SmallCopies, OfEverySizeAndAlignmentAreCorrect) {
  for (std::size_t const size : {1u, 2u, 15u, 16u, 17u, 31u, 64u, 127u, 1000u, 2049u, 4096u, 4097u,
                                 16384u, 16385u, 65535u, 65536u, 65537u}) {
    if (sanitized && size > 4097) { break; }
    small_copies::copy_with_every_offset(rt(), first(), first(), size);
    if (device_count() > 1) {
      small_copies::copy_with_every_offset(rt(), first(), last(), size);
      small_copies::copy_with_every_offset(rt(), last(), first(), size);
    }
  }
}

// requirement: fills with values of every size are correct
TEST_P(SmallCopies, FillsWithValuesOfEverySizeAreCorrect) {
  std::size_t const max_bytes = sanitized ? 2000 : 66000;
  small_copies::fill_with_values_of<1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 20, 24, 32, 33, 48,
                                    61, 63, 64>(rt(), last(), max_bytes);
}

// requirement: copies run in the order of `after`, before and after kernels
TEST_P(SmallCopies, RunInOrderWithKernels) {
  small_copies::pipeline(rt(), program(), last(), static_cast<unsigned>(scaled(200, 20)), 1024, 3);
  small_copies::pipeline(rt(), program(), last(), static_cast<unsigned>(scaled(100, 10)), 16384, 2);
}

// requirement: on GPUs, a burst of small copies is a few grids. If the driver refuses flotilla's
// kernels, no batch is launched.
TEST_P(SmallCopies, AreAFewGridsOnGpus) {
  FLOTILLA_NEED_GPUS(1);
  if (worker_count() != 0) { GTEST_SKIP() << "needs a runtime without workers"; }
  constexpr std::size_t copies = 300, size = 4096;
  host_buffer<std::uint8_t> up{rt(), copies * size};
  device_buffer<std::uint8_t> there{rt(), first(), copies * size};
  std::uint64_t const before = rt().counters(first()).batches;
  for (std::size_t at = 0; at < up.size(); at += size) {
    rt().post(there.subspan(at, size).copy_from(up.subspan(at, size)));
  }
  rt().wait_idle();
  std::uint64_t const batches = rt().counters(first()).batches - before;
  EXPECT_GE(batches, 1u);
  EXPECT_LE(batches, 12u);
}

}  // namespace
}  // namespace flotilla::test
