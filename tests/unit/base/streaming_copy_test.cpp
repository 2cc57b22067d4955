// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/streaming_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace flotilla::base {
namespace {

// requirement: every size and alignment, and no byte beside the destination
TEST(StreamingCopy, CopiesExactlyTheBytes) {
  constexpr std::size_t room = 1200;
  constexpr std::byte untouched{0xee};
  std::vector<std::byte> from(room);
  for (std::size_t i = 0; i < room; ++i) { from[i] = static_cast<std::byte>(i * 31 % 251); }
  std::vector<std::byte> to(room);
  for (std::size_t const size : {0, 1, 15, 63, 64, 65, 127, 128, 129, 200, 1000}) {
    for (std::size_t from_at = 0; from_at < 20; ++from_at) {
      for (std::size_t to_at = 0; to_at < 70; ++to_at) {
        std::fill(to.begin(), to.end(), untouched);
        streaming_copy(to.data() + to_at, from.data() + from_at, size);
        for (std::size_t i = 0; i < room; ++i) {
          bool const is_inside = i >= to_at && i < to_at + size;
          ASSERT_EQ(to[i], is_inside ? from[from_at + i - to_at] : untouched)
              << size << " bytes from " << from_at << " to " << to_at << ", byte " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace flotilla::base
