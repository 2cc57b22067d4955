// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows: the contents of tiles, in all kinds of memory.

#include "contract/flow_tiles_fixture.hpp"

namespace flotilla::test {
namespace {

class FlowTiles : public flow_tiles_test {};
FLOTILLA_CONTRACT(FlowTiles);

// requirement: tiles are parts of the memory of the application, and come back changed
TEST_P(FlowTiles, OfPageableMemory) {
  words host = iota(size);
  matrix whole{fl(), host, {rows, columns}, "whole"};
  {
    auto tiles = whole.tiles({4, 5});
    ASSERT_EQ(tiles.size(), 9u);
    ASSERT_EQ(tiles.extents()[0], 3u);
    EXPECT_EQ(tiles(2, 2).extents()[0], 2u);
    EXPECT_EQ(tiles(2, 2).extents()[1], 4u);
    stir_all(tiles, 1);
    stir_all(tiles, 2);
    view<std::uint32_t const, 2> const seen = tiles(1, 1).host();
    EXPECT_EQ(seen.data, host.data() + 4 * columns + 5);
    EXPECT_EQ(seen.pitch, columns);
    EXPECT_EQ(seen(1, 2), stirred(iota(size), {1, 2})[5 * columns + 7]);
  }
  fl().post(stir(whole, 3), {.device = last()});
  EXPECT_EQ(contents(whole), stirred(iota(size), {1, 2, 3}));
  EXPECT_EQ(whole.host().data, host.data());
}

TEST_P(FlowTiles, OfPinnedMemory) {
  host_buffer<std::uint32_t> host{rt(), size};
  std::iota(host.data(), host.data() + size, 0u);
  matrix whole{fl(), host, {rows, columns}, "whole"};
  {
    auto tiles = whole.tiles({3, 14});
    stir_all(tiles, 1);
  }
  {
    auto tiles = whole.tiles({10, 3});
    stir_all(tiles, 2);
    stir_all(tiles, 3);
  }
  EXPECT_EQ(contents(whole), stirred(iota(size), {1, 2, 3}));
}

// requirement: large tiles of pageable memory are copied in pieces
TEST_P(FlowTiles, OfManyPieces) {
  constexpr std::size_t height = 700, width = 701;
  words host = iota(height * width);
  matrix whole{fl(), host, {height, width}, "whole"};
  {
    auto tiles = whole.tiles({350, 500});
    for (matrix& each : tiles) { fl().post(stir(each, 9), {.device = last()}); }
  }
  EXPECT_EQ(contents(whole), stirred(iota(height * width), {9}));
}

// requirement: on the device of a buffer, tiles are parts of the buffer
TEST_P(FlowTiles, OfADeviceBuffer) {
  device_buffer<std::uint32_t> buffer{rt(), last(), size};
  words const initial = iota(size);
  rt().submit(buffer.copy_from(initial)).wait();
  matrix whole{fl(), buffer, {rows, columns}, "whole"};
  {
    auto tiles = whole.tiles({4, 5});
    EXPECT_TRUE(tiles(0, 0).is_valid_on(last()));
    stir_all(tiles, 1);
    EXPECT_THAT(
        thrown<invalid_argument>([&] {
          auto const pointer =
              kernels().kernel(flow_kernels.stir_words).over(20u)(update(tiles(1, 2)), 20u, 0u);
          fl().post(pointer, {.device = last(), .label = "by pointer"});
        }),
        AllOf(HasSubstr("task 'by pointer': data 'whole(1, 2)' are a tile"),
              HasSubstr("needs a view")));
    for (matrix& each : tiles) { fl().post(stir(each, 2), {.device = last()}); }
  }
  EXPECT_TRUE(whole.is_valid_on(last()));
  fl().post(stir(whole, 3), {.device = last()});
  rt().wait_idle();
  words seen(size);
  rt().submit(buffer.copy_to(std::span{seen})).wait();
  EXPECT_EQ(seen, stirred(iota(size), {1, 2, 3}));
}

TEST_P(FlowTiles, OfThreeDimensions) {
  words host = iota(6 * 5 * 7);
  device_buffer<std::uint32_t> buffer{rt(), last(), host.size()};
  rt().submit(buffer.copy_from(host)).wait();
  host_buffer<std::uint32_t> pinned{rt(), host.size()};
  std::iota(pinned.data(), pinned.data() + host.size(), 0u);
  box of_host{fl(), host, {6, 5, 7}, "host"};
  box of_pinned{fl(), pinned, {6, 5, 7}, "pinned"};
  box of_device{fl(), buffer, {6, 5, 7}, "device"};
  for (box* const whole : {&of_host, &of_pinned, &of_device}) {
    for (box::extents_type const tile : {box::extents_type{4, 2, 3}, {1, 5, 2}, {6, 1, 7}}) {
      auto tiles = whole->tiles(tile);
      stir_all(tiles, 1);
      stir_all(tiles, 2);
    }
    EXPECT_EQ(contents(*whole), stirred(iota(6 * 5 * 7), {1, 2, 1, 2, 1, 2}));
  }
}

TEST_P(FlowTiles, OfOneDimension) {
  words host = iota(100);
  word_data whole{fl(), host, "whole"};
  {
    auto tiles = whole.tiles({30});
    ASSERT_EQ(tiles.size(), 4u);
    EXPECT_EQ(tiles(3).size(), 10u);
    for (word_data& each : tiles) { fl().post(flow_test::stir(each, 4), {.device = last()}); }
  }
  EXPECT_EQ(on_host(whole), stirred(iota(100), {4}));
}

// requirement: tiles of data without memory get memory where tasks need them
TEST_P(FlowTiles, OfDataWithoutContents) {
  matrix whole{fl(), {rows, columns}, "whole"};
  auto const fill_tile = [](view<std::uint32_t, 2> on_host) {
    for (std::size_t i = 0; i < on_host.extents[0]; ++i) {
      for (std::size_t j = 0; j < on_host.extents[1]; ++j) { on_host(i, j) = 5; }
    }
  };
  {
    auto tiles = whole.tiles({4, 5});
    EXPECT_THAT(thrown<invalid_argument>([&] { fl().post(stir(tiles(0, 1), 1)); }),
                HasSubstr("data 'whole(0, 1)' have no contents yet"));
    for (matrix& each : tiles) { fl().post(uses(write(each)), host_task(fill_tile)); }
    stir_all(tiles, 1);
  }
  EXPECT_EQ(contents(whole), stirred(words(size, 5), {1}));
  matrix part{fl(), {rows, columns}, "part"};
  {
    auto tiles = part.tiles({4, 5});
    fl().post(uses(write(tiles(1, 1))), host_task(fill_tile));
  }
  EXPECT_THAT(thrown<invalid_argument>([&] { static_cast<void>(part.host()); }),
              HasSubstr("data 'part' have no contents yet"));
}

// requirement: tiles can be divided
TEST_P(FlowTiles, OfTiles) {
  words host = iota(size);
  matrix whole{fl(), host, {rows, columns}, "whole"};
  {
    auto tiles = whole.tiles({6, 8});
    stir_all(tiles, 1);
    auto parts = tiles(0, 1).tiles({2, 5});
    EXPECT_THAT(thrown<invalid_argument>([&] { fl().post(stir(tiles(0, 1), 1)); }),
                HasSubstr("data 'whole(0, 1)' are divided into tiles"));
    stir_all(parts, 2);
    matrix const outlives = std::move(parts(1, 1));
    fl().post(stir(tiles(0, 0), 2));
    fl().post(stir(tiles(1, 0), 2));
    fl().post(stir(tiles(1, 1), 2));
    EXPECT_EQ(outlives.extents()[1], 1u);
  }
  EXPECT_EQ(contents(whole), stirred(iota(size), {1, 2}));
}

// requirement: tiles are evicted as other data are
TEST_P(FlowTiles, WithLittleMemory) {
  flow small{rt(), {.memory_limit = 3 * 512}};
  words host = iota(size);
  matrix whole{small, host, {rows, columns}, "whole"};
  matrix unset{small, {rows, columns}, "unset"};
  {
    auto tiles = whole.tiles({4, 5});
    auto others = unset.tiles({4, 5});
    for (std::uint32_t salt = 0; salt < 4; ++salt) {
      for (std::size_t i = 0; i < tiles.size(); ++i) {
        matrix &one = tiles.begin()[static_cast<std::ptrdiff_t>(i)],
               &other = others.begin()[static_cast<std::ptrdiff_t>(i)];
        small.post(stir(one, salt), {.device = last()});
        if (salt == 0) {
          small.post(uses(write(other)), host_task([](view<std::uint32_t, 2> out) {
                       for (std::size_t k = 0; k < out.size(); ++k) {
                         out(k / out.extents[1], k % out.extents[1]) = 2;
                       }
                     }));
        }
        small.post(stir(other, salt), {.device = last()});
      }
    }
    EXPECT_GT(small.counters(last()).evictions, 10u);
    EXPECT_LE(small.counters(last()).allocated_bytes, 3u * 512);
  }
  EXPECT_EQ(contents(whole), stirred(iota(size), {0, 1, 2, 3}));
  EXPECT_EQ(contents(unset), stirred(words(size, 2), {0, 1, 2, 3}));
}

// requirement: many tiles are joined by several tasks
TEST_P(FlowTiles, ManyTiles) {
  words host = iota(40 * 40);
  matrix whole{fl(), host, {40, 40}, "whole"};
  {
    auto tiles = whole.tiles({2, 2});
    ASSERT_EQ(tiles.size(), 400u);
    for (matrix& each : tiles) { fl().post(stir(each, 6), {.device = last()}); }
  }
  fl().post(stir(whole, 7), {.device = last()});
  EXPECT_EQ(contents(whole), stirred(iota(40 * 40), {6, 7}));
}

}  // namespace
}  // namespace flotilla::test
