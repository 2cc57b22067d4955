// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Registered memory: pieces that are cut from slabs.

#include "dispatch/lane/registered_slabs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "unit/dispatch/lane/lane_test.hpp"

namespace flotilla::dispatch {
namespace {

class RegisteredSlabs : public lane_test {
 protected:
  ~RegisteredSlabs() override { slabs_.destroy(); }
  static bool is_zero(registered_slabs::piece const& of) {
    return std::all_of(of.host, of.host + of.bytes,
                       [](std::byte const each) { return each == std::byte{0}; });
  }
  registered_slabs slabs_{context_};
};

// requirement: pieces do not overlap. Each is zeroed, aligned to a cache line and visible to the
// device.
TEST_F(RegisteredSlabs, GiveEveryoneHisOwn) {
  slabs_.begin();
  std::vector<registered_slabs::piece> taken;
  std::size_t bytes = 0;
  for (std::size_t i = 1; bytes < 3 * registered_slabs::slab_bytes; i = i * 5 % 40'009) {
    taken.push_back(slabs_.take(i));
    registered_slabs::piece const& got = taken.back();
    bytes += got.bytes;
    ASSERT_GE(got.bytes, i);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(got.host) % 64, 0u);
    ASSERT_TRUE(is_zero(got));
    std::memset(got.host, static_cast<int>(taken.size() % 255 + 1), got.bytes);
  }
  for (std::size_t i = 0; i < taken.size(); ++i) {
    auto const mine = static_cast<std::byte>((i + 1) % 255 + 1);
    ASSERT_TRUE(std::all_of(taken[i].host, taken[i].host + taken[i].bytes,
                            [&](std::byte const each) { return each == mine; }));
    std::byte seen{};
    ASSERT_EQ(api()->memcpy_dtoh(&seen, taken[i].device + taken[i].bytes - 1, 1), CUDA_SUCCESS);
    ASSERT_EQ(seen, mine);
  }
}

// requirement: after a piece was given back, a request of the same size gets this piece, which is
// zeroed again
TEST_F(RegisteredSlabs, UsePiecesAgain) {
  registered_slabs::piece const first = slabs_.take(1000);
  std::memset(first.host, 1, first.bytes);
  slabs_.give_back(first);
  EXPECT_NE(slabs_.take(100).host, first.host);
  registered_slabs::piece const again = slabs_.take(1000);
  EXPECT_EQ(again.host, first.host);
  EXPECT_TRUE(is_zero(again));
  slabs_.give_back({});
  // A request of nearly the same size gets the same piece.
  slabs_.give_back(again);
  EXPECT_EQ(slabs_.take(900).host, first.host);
}

// requirement: a piece that a stream still reads is not used again before the stream has ended
TEST_F(RegisteredSlabs, UseBusyPiecesAfterTheirStream) {
  slabs_.begin();
  registered_slabs::piece const word = slabs_.take(64);
  registered_slabs::piece const read = slabs_.take(1000);
  ASSERT_EQ(api()->stream_wait_value_64(lane_.stream(), word.device, 1, CU_STREAM_WAIT_VALUE_EQ),
            CUDA_SUCCESS);
  slabs_.give_back_after(lane_.stream(), read);
  slabs_.give_back_after(lane_.stream(), {});
  EXPECT_NE(slabs_.take(1000).host, read.host);
  std::atomic_ref{*reinterpret_cast<std::uint64_t*>(word.host)} = 1u;
  ASSERT_EQ(api()->stream_synchronize(lane_.stream()), CUDA_SUCCESS);
  EXPECT_EQ(slabs_.take(1000).host, read.host);
}

// requirement: a piece that is larger than a slab gets a slab of its own
TEST_F(RegisteredSlabs, GiveLargeOnes) {
  registered_slabs::piece const large = slabs_.take(3 * registered_slabs::slab_bytes);
  EXPECT_TRUE(is_zero(large));
  EXPECT_TRUE(is_zero(slabs_.take(64)));
}

}  // namespace
}  // namespace flotilla::dispatch
