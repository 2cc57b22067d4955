// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows: data that are divided into tiles.

#include <optional>

#include "contract/flow_fixture.hpp"

namespace flotilla::test {
namespace {

using matrix = data<std::uint32_t, 2>;
using box = data<std::uint32_t, 3>;

class FlowTiles : public flow_test {
 protected:
  static constexpr std::size_t rows = 10, columns = 14;
  static constexpr std::size_t size = rows * columns;

  [[nodiscard]] data_launch stir(matrix& all, std::uint32_t salt) {
    return kernels().kernel(flow_kernels.stir_matrix).with_shape({1}, {32})(update(all), salt);
  }
  [[nodiscard]] data_launch stir(box& all, std::uint32_t salt) {
    return kernels().kernel(flow_kernels.stir_box).with_shape({1}, {32})(update(all), salt);
  }
  /// Stirs each tile on another device or on the host.
  template <class Tiles>
  void stir_all(Tiles& tiles, std::uint32_t salt) {
    std::size_t i = 0;
    for (auto& each : tiles) {
      if (i % 3 == 2) {
        fl().post_host(uses(update(each)), [salt](auto on_host) { stir_view(on_host, salt); });
      } else {
        fl().post(stir(each, salt), {.device = ordinals()[i % ordinals().size()]});
      }
      ++i;
    }
  }
  static void stir_view(view<std::uint32_t, 2> all, std::uint32_t salt) {
    for (std::size_t i = 0; i < all.extents[0]; ++i) {
      stir_on_host(&all(i, 0), all.extents[1], salt);
    }
  }
  static void stir_view(view<std::uint32_t, 3> all, std::uint32_t salt) {
    for (std::size_t i = 0; i < all.extents[0]; ++i) {
      for (std::size_t j = 0; j < all.extents[1]; ++j) {
        stir_on_host(&all(i, j, 0), all.extents[2], salt);
      }
    }
  }
  [[nodiscard]] static words stirred(words from, std::initializer_list<std::uint32_t> salts) {
    for (std::uint32_t const salt : salts) { stir_on_host(from.data(), from.size(), salt); }
    return from;
  }
  template <class Data>
  [[nodiscard]] static words contents(Data& of) {
    auto const seen = of.host();
    return {seen.data, seen.data + seen.size()};
  }
};
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
    EXPECT_THAT(thrown<invalid_argument>([&] {
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
    for (matrix& each : tiles) { fl().post_host(uses(write(each)), fill_tile); }
    stir_all(tiles, 1);
  }
  EXPECT_EQ(contents(whole), stirred(words(size, 5), {1}));
  matrix part{fl(), {rows, columns}, "part"};
  {
    auto tiles = part.tiles({4, 5});
    fl().post_host(uses(write(tiles(1, 1))), fill_tile);
  }
  EXPECT_THAT(thrown<invalid_argument>([&] { static_cast<void>(part.host()); }),
              HasSubstr("data 'part' have no contents yet"));
}

// requirement: overlapping views are refused by name: the whole data, while tiles exist
TEST_P(FlowTiles, TheWholeIsRefusedWhileTilesExist) {
  words host = iota(size);
  matrix whole{fl(), host, {rows, columns}, "whole"};
  std::optional tiles{whole.tiles({4, 5})};
  auto const is_refused = AllOf(HasSubstr("data 'whole' are divided into tiles"),
                                HasSubstr("9 of the tiles still exist"));
  EXPECT_THAT(thrown<invalid_argument>([&] { fl().post(stir(whole, 1), {.label = "bad"}); }),
              AllOf(is_refused, HasSubstr("task 'bad'")));
  EXPECT_THAT(thrown<invalid_argument>([&] { static_cast<void>(whole.host()); }), is_refused);
  EXPECT_THAT(thrown<invalid_argument>([&] { whole.prefetch_to(last()); }), is_refused);
  EXPECT_THAT(thrown<invalid_argument>([&] { static_cast<void>(whole.tiles({2, 2})); }),
              is_refused);
  EXPECT_FALSE(whole.is_valid_on_host());
  EXPECT_THAT(thrown<invalid_argument>([&] { fl().post(stir((*tiles)(3, 1), 1)); }),
              HasSubstr("there is no tile (3, 1): the data are divided into 3 x 3 tiles"));
  fl().post(stir((*tiles)(0, 0), 1));
  {
    matrix const kept = std::move((*tiles)(2, 0));
    tiles.reset();
    EXPECT_THAT(thrown<invalid_argument>([&] { static_cast<void>(whole.host()); }),
                HasSubstr("1 of the tiles still exist"));
  }
  EXPECT_EQ(whole.host()(0, 1), 4u);
  EXPECT_THAT(thrown<invalid_argument>([&] { static_cast<void>(whole.tiles({2, 0})); }),
              HasSubstr("data 'whole': an extent of the tiles is 0"));
}

// requirement: a task that overwrites the whole data waits for the tasks that use tiles
TEST_P(FlowTiles, WritersOfTheWholeWaitForReadersOfTiles) {
  words host = iota(size);
  matrix whole{fl(), host, {rows, columns}, "whole"};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  std::uint32_t seen = 0;
  std::optional tiles{whole.tiles({4, 5})};
  ticket const reader = fl().submit_host(
      uses(read((*tiles)(1, 1))), [&](view<std::uint32_t const, 2> in) { seen = in(0, 1); },
      {.after = {held}});
  tiles.reset();
  ticket const writer = fl().submit_host(
      uses(write(whole)), [](view<std::uint32_t, 2> out) { out(4, 6) = 1; });
  EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
  EXPECT_FALSE(writer.ready());
  word.release();
  writer.wait();
  EXPECT_TRUE(reader.ready());
  EXPECT_EQ(seen, 4 * columns + 6);
}

// requirement: a task that uses a tile waits for earlier tasks that use the whole data
TEST_P(FlowTiles, WritersOfTilesWaitForReadersOfTheWhole) {
  words host = iota(size);
  matrix whole{fl(), host, {rows, columns}, "whole"};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  std::uint32_t seen = 0;
  ticket const reader = fl().submit_host(
      uses(read(whole)), [&](view<std::uint32_t const, 2> in) { seen = in(4, 6); },
      {.after = {held}});
  auto tiles = whole.tiles({4, 5});
  ticket const writer = fl().submit_host(
      uses(write(tiles(1, 1))), [](view<std::uint32_t, 2> out) { out(0, 1) = 1; });
  EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
  EXPECT_FALSE(writer.ready());
  word.release();
  writer.wait();
  EXPECT_TRUE(reader.ready());
  EXPECT_EQ(seen, 4 * columns + 6);
}

// requirement: if a tile is lost, the whole data are lost until a task writes them
TEST_P(FlowTiles, ALostTileLosesTheWhole) {
  words host = iota(size);
  matrix whole{fl(), host, {rows, columns}, "whole"};
  {
    auto tiles = whole.tiles({4, 5});
    fl().post(
        uses(update(tiles(1, 0))),
        [](task_context&, view<std::uint32_t, 2>) { throw std::runtime_error("lost a tile"); },
        {.device = last()});
    EXPECT_NO_THROW(static_cast<void>(tiles(0, 0).host()));
    EXPECT_THAT(thrown<dependency_failed>([&] { static_cast<void>(tiles(1, 0).host()); }),
                AllOf(HasSubstr("data 'whole(1, 0)'"), EndsWith("lost a tile")));
  }
  EXPECT_THAT(thrown<dependency_failed>([&] { fl().submit(stir(whole, 1)).wait(); }),
              EndsWith("lost a tile"));
  EXPECT_THAT(thrown<dependency_failed>([&] { static_cast<void>(whole.host()); }),
              EndsWith("lost a tile"));
  fl().post_host(uses(write(whole)), [](view<std::uint32_t, 2> out) {
    for (std::size_t i = 0; i < size; ++i) { out.data[i] = 8; }
  });
  EXPECT_EQ(contents(whole), words(size, 8));
}

// requirement: the data may end before their tiles, and the tiles while tasks use them
TEST_P(FlowTiles, LiveLongerThanTheWhole) {
  words host = iota(size);
  {
    std::optional whole{matrix{fl(), host, {rows, columns}, "whole"}};
    auto tiles = whole->tiles({4, 5});
    stir_all(tiles, 1);
    whole.reset();
    stir_all(tiles, 2);
    EXPECT_EQ(tiles(0, 0).host()(0, 1), stirred(iota(size), {1, 2})[1]);
  }
  matrix unused{fl(), {rows, columns}, "unused"};
  static_cast<void>(unused.tiles({4, 5}));
  rt().wait_idle();
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
          small.post_host(uses(write(other)), [](view<std::uint32_t, 2> out) {
            for (std::size_t k = 0; k < out.size(); ++k) {
              out(k / out.extents[1], k % out.extents[1]) = 2;
            }
          });
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
