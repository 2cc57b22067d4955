// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Memory for the records of chunks.

#include "dispatch/lane/chunk_memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <flotilla/testing/fault_injection.hpp>

#include "unit/dispatch/lane/lane_test.hpp"

namespace flotilla::dispatch {
namespace {

class ChunkMemory : public lane_test {
 protected:
  ~ChunkMemory() override { memory_.unregister(); }
  chunk_memory memory_{context_};
};

// requirement: there is no memory before `grow`, then pieces that do not overlap and that the
// device can read, and at most max_pieces
TEST_F(ChunkMemory, GrowsUpToItsLimit) {
  EXPECT_EQ(memory_.take(), chunk_memory::no_piece);
  std::vector<std::uint32_t> taken;
  while (memory_.may_grow()) {
    ASSERT_EQ(memory_.grow(), CUDA_SUCCESS);
    std::uint32_t piece = memory_.take();
    ASSERT_NE(piece, chunk_memory::no_piece);
    for (; piece != chunk_memory::no_piece; piece = memory_.take()) {
      taken.push_back(piece);
      std::memset(memory_.host(piece), static_cast<int>(taken.size()), chunk_memory::piece_bytes);
    }
  }
  EXPECT_EQ(taken.size(), chunk_memory::max_pieces);
  EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), taken.size());
  for (std::size_t i = 0; i < taken.size(); ++i) {
    for (std::size_t const at : {std::size_t{0}, chunk_memory::piece_bytes - 1}) {
      std::byte seen{};
      ASSERT_EQ(api()->memcpy_dtoh(&seen, memory_.device(taken[i]) + at, 1), CUDA_SUCCESS);
      ASSERT_EQ(seen, static_cast<std::byte>(i + 1));
    }
  }
  EXPECT_EQ(memory_.grow(), CUDA_SUCCESS);
  EXPECT_EQ(memory_.take(), chunk_memory::no_piece) << "the limit holds";
}

// requirement: a piece that comes back is the next to be taken, and the counter changes
TEST_F(ChunkMemory, PiecesComeBack) {
  ASSERT_EQ(memory_.grow(), CUDA_SUCCESS);
  std::uint32_t const first = memory_.take(), second = memory_.take();
  std::uint32_t const before = memory_.returns();
  memory_.give_back(first);
  EXPECT_NE(memory_.returns(), before);
  EXPECT_EQ(memory_.take(), first);
  EXPECT_NE(first, second);
}

// requirement: after a refusal by the driver there are no more attempts
TEST_F(ChunkMemory, RefusedMemoryIsNotAskedForAgain) {
  testing::fail_call("cuMemHostRegister", 1, driver_status::out_of_memory);
  EXPECT_EQ(memory_.grow(), CUDA_ERROR_OUT_OF_MEMORY);
  testing::clear_faults();
  EXPECT_FALSE(memory_.may_grow());
  EXPECT_EQ(memory_.grow(), CUDA_SUCCESS);
  EXPECT_EQ(memory_.take(), chunk_memory::no_piece);
}

// stress: several threads take and give back pieces, and no two have the same piece
TEST_F(ChunkMemory, ThreadsShareThePieces) {
  ASSERT_EQ(memory_.grow(), CUDA_SUCCESS);
  std::vector<std::atomic<int>> owners(chunk_memory::max_pieces);
  std::atomic<bool> wrong{false};
  {
    std::vector<std::jthread> all;
    for (int t = 0; t < 4; ++t) {
      all.emplace_back([&] {
        for (int i = 0; i < 2000; ++i) {
          std::uint32_t const piece = memory_.take();
          if (piece == chunk_memory::no_piece) { continue; }
          if (owners[piece].fetch_add(1) != 0) { wrong = true; }
          owners[piece].fetch_sub(1);
          memory_.give_back(piece);
        }
      });
    }
  }
  EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace flotilla::dispatch
