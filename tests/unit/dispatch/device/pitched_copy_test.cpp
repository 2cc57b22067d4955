// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The driver calls of pitched copies. A function that records them replaces the driver.

#include "dispatch/device/pitched_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace flotilla::test {
namespace {

constexpr std::size_t max_pitch = 0x7fffffff;

std::vector<CUDA_MEMCPY2D>& calls() {
  static std::vector<CUDA_MEMCPY2D> made;
  return made;
}

CUresult CUDAAPI record(CUDA_MEMCPY2D const* call, CUstream) {
  calls().push_back(*call);
  bool const fits = call->srcPitch <= max_pitch && call->dstPitch <= max_pitch;
  return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// Returns the calls for a copy from `from` on a device to `to` on the same device.
std::vector<CUDA_MEMCPY2D> calls_for(detail::copy_box const& box, std::uintptr_t to,
                                     std::uintptr_t from) {
  driver::table api{};
  api.memcpy_2d_async = record;
  detail::memory_command what{.to = to, .from = from, .kind = memory_op_kind::device_to_device};
  what.set_box(box);
  calls().clear();
  EXPECT_TRUE(dispatch::enqueue_pitched_copy(what, api, nullptr).ok());
  return calls();
}

/// The addresses of the rows that the calls copy: destination and source.
std::vector<std::pair<std::uintptr_t, std::uintptr_t>> rows_of(
    std::vector<CUDA_MEMCPY2D> const& all) {
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> made;
  for (CUDA_MEMCPY2D const& each : all) {
    for (std::size_t i = 0; i < each.Height; ++i) {
      made.emplace_back(each.dstDevice + i * each.dstPitch, each.srcDevice + i * each.srcPitch);
    }
  }
  std::sort(made.begin(), made.end());
  return made;
}

std::vector<std::pair<std::uintptr_t, std::uintptr_t>> rows_of(detail::copy_box const& box,
                                                               std::uintptr_t to,
                                                               std::uintptr_t from) {
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> made;
  for (std::size_t i = 0; i < box.depth; ++i) {
    for (std::size_t j = 0; j < box.height; ++j) {
      made.emplace_back(to + i * box.to.plane + j * box.to.row,
                        from + i * box.from.plane + j * box.from.row);
    }
  }
  std::sort(made.begin(), made.end());
  return made;
}

// requirement: each row is copied once, with as few calls as possible
TEST(PitchedCopy, CopiesEachRowOnce) {
  constexpr std::uintptr_t to = 1 << 20, from = 1 << 22;
  constexpr std::size_t far = std::size_t{1} << 32;
  for (auto const& [box, count] : std::vector<std::pair<detail::copy_box, std::size_t>>{
           {{16, 5, 1, {16, 80}, {100, 900}}, 1},      // one plane
           {{16, 5, 3, {16, 80}, {100, 900}}, 3},      // a call for each plane
           {{16, 3, 5, {16, 48}, {100, 900}}, 3},      // more planes than rows: exchanged
           {{16, 3, 5, {16, 48}, {100, far}}, 5},      // planes too far apart to be exchanged
           {{16, 3, 2, {16, 48}, {far, 4 * far}}, 6},  // rows too far apart
       }) {
    std::vector<CUDA_MEMCPY2D> const made = calls_for(box, to, from);
    EXPECT_EQ(made.size(), count);
    EXPECT_EQ(rows_of(made), rows_of(box, to, from));
  }
}

}  // namespace
}  // namespace flotilla::test
