// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows: the whole data and their tiles are never used at the same time.

#include <array>
#include <optional>

#include "contract/flow_tiles_fixture.hpp"

namespace flotilla::test {
namespace {

class FlowTilesOrder : public flow_tiles_test {};
FLOTILLA_CONTRACT(FlowTilesOrder);

// requirement: overlapping views are refused by name: the whole data, while tiles exist
TEST_P(FlowTilesOrder, TheWholeIsRefusedWhileTilesExist) {
  words host = iota(size);
  matrix whole{fl(), host, {rows, columns}, "whole"};
  std::optional tiles{whole.tiles({4, 5})};
  auto const is_refused = AllOf(HasSubstr("data 'whole' are divided into tiles"),
                                HasSubstr("9 of the tiles still exist"));
  EXPECT_THAT(thrown<invalid_argument>([&] { fl().post(stir(whole, 1), {.label = "bad"}); }),
              AllOf(is_refused, HasSubstr("task 'bad'")));
  EXPECT_THAT(thrown<invalid_argument>([&] { static_cast<void>(whole.host()); }), is_refused);
  EXPECT_THAT(thrown<invalid_argument>([&] { whole.prefetch_to(last()); }), is_refused);
  EXPECT_THAT(thrown<invalid_argument>([&] {
                static_cast<void>(whole.tiles({2, 2}));
              }),
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
  EXPECT_THAT(thrown<invalid_argument>([&] {
                static_cast<void>(whole.tiles({2, 0}));
              }),
              HasSubstr("data 'whole': an extent of the tiles is 0"));
}

// requirement: a task that overwrites the whole data waits for the tasks that use tiles
TEST_P(FlowTilesOrder, WritersOfTheWholeWaitForReadersOfTiles) {
  words host = iota(size);
  matrix whole{fl(), host, {rows, columns}, "whole"};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  std::uint32_t seen = 0;
  std::optional tiles{whole.tiles({4, 5})};
  ticket const reader = fl().submit(
      uses(read((*tiles)(1, 1))),
      host_task([&](view<std::uint32_t const, 2> in) { seen = in(0, 1); }), {.after = {held}});
  tiles.reset();
  ticket const writer =
      fl().submit(uses(write(whole)), host_task([](view<std::uint32_t, 2> out) { out(4, 6) = 1; }));
  EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
  EXPECT_FALSE(writer.ready());
  word.release();
  writer.wait();
  EXPECT_TRUE(reader.ready());
  EXPECT_EQ(seen, 4 * columns + 6);
}

// requirement: a task that uses a tile waits for earlier tasks that use the whole data
TEST_P(FlowTilesOrder, WritersOfTilesWaitForReadersOfTheWhole) {
  words host = iota(size);
  matrix whole{fl(), host, {rows, columns}, "whole"};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  std::uint32_t seen = 0;
  ticket const reader = fl().submit(
      uses(read(whole)), host_task([&](view<std::uint32_t const, 2> in) { seen = in(4, 6); }),
      {.after = {held}});
  auto tiles = whole.tiles({4, 5});
  ticket const writer = fl().submit(uses(write(tiles(1, 1))),
                                    host_task([](view<std::uint32_t, 2> out) { out(0, 1) = 1; }));
  EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
  EXPECT_FALSE(writer.ready());
  word.release();
  writer.wait();
  EXPECT_TRUE(reader.ready());
  EXPECT_EQ(seen, 4 * columns + 6);
}

// requirement: if a tile is lost, the whole data are lost until a task writes them
TEST_P(FlowTilesOrder, ALostTileLosesTheWhole) {
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
  fl().post(uses(write(whole)), host_task([](view<std::uint32_t, 2> out) {
              for (std::size_t i = 0; i < size; ++i) { out.data[i] = 8; }
            }));
  EXPECT_EQ(contents(whole), words(size, 8));
}

// requirement: the data may end before their tiles, and the tiles while tasks use them
TEST_P(FlowTilesOrder, LiveLongerThanTheWhole) {
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

// requirement: dividing data again and again costs the same each time, also if no task has ended
TEST_P(FlowTilesOrder, ManyRoundsDoNotGrow) {
  flow logged{rt(), {.keeps_graph = true}};
  words host = iota(size);
  matrix whole{logged, host, {rows, columns}, "whole"};
  constexpr std::size_t rounds = 12;
  auto const look = [](view<std::uint32_t const, 2>) {};
  auto const stir_all = [](view<std::uint32_t, 2> all) { stir_view(all, 1); };
  for (std::size_t i = 0; i < rounds; ++i) {
    auto tiles = whole.tiles({1, 2});
    for (matrix& each : tiles) { logged.post(uses(read(each)), host_task(look)); }
  }
  logged.post(uses(update(whole)), host_task(stir_all));
  std::string const picture = logged.dot();
  std::size_t edges = 0;
  for (std::size_t at = 0; (at = picture.find(" -> ", at)) != std::string::npos; ++at) { ++edges; }
  // Each tile has at most 16 users from the rounds before, and each of them is counted once when
  // the tiles are joined.
  EXPECT_LT(edges, rounds * 70 * 4);
  EXPECT_EQ(contents(whole), stirred(iota(size), {1}));
  rt().wait_idle();
}

// requirement: a task without a device runs where its data will be joined
TEST_P(FlowTilesOrder, TheWholeIsUsedWhereItsTilesAre) {
  device_buffer<std::uint32_t> buffer{rt(), last(), size};
  words const initial = iota(size);
  rt().submit(buffer.copy_from(initial)).wait();
  matrix whole{fl(), buffer, {rows, columns}, "whole"};
  {
    auto tiles = whole.tiles({4, 5});
    for (matrix& each : tiles) { fl().post(stir(each, 1), {.device = last()}); }
  }
  ticket const task = fl().submit(stir(whole, 2));
  task.wait();
  EXPECT_EQ(task.device(), last());
  EXPECT_EQ(contents(whole), stirred(iota(size), {1, 2}));
}

// requirement: tiles of an array that was moved from do not exist
TEST_P(FlowTilesOrder, MovedArraysHaveNoTiles) {
  matrix whole{fl(), {rows, columns}, "whole"};
  auto tiles = whole.tiles({4, 5});
  auto const moved = std::move(tiles);
  EXPECT_THROW(static_cast<void>(tiles(0, 0)), invalid_argument);
  EXPECT_EQ(moved(2, 2).extents()[1], 4u);
}

// regression: `submit` and `prefetch_to` looped forever if the data fit into the limit, but not
// into what divided data, which cannot be evicted, leave of it
TEST_P(FlowTilesOrder, MemoryOfDividedDataIsMissing) {
  constexpr std::array<std::size_t, 2> extents{8, 16}, transposed{16, 8};  // 512 bytes
  flow small{rt(), {.memory_limit = 1024}};
  matrix a{small, transposed, "a"}, b{small, extents, "b"};
  matrix left{small, extents, "left"}, right{small, extents, "right"};
  b.host_for_update()(2, 3) = 7;
  for (matrix* const each : {&left, &right}) {
    static_cast<void>(each->host_for_update());
    small.post(stir(*each, 1), {.device = last()});
  }
  auto const transpose = [&] {
    auto const shaped = kernels().kernel(flow_kernels.transpose_words).with_shape({1}, {16, 16});
    small.post(shaped(read(b), write(a)), {.device = last()});
  };
  {
    auto tiles_of_left = left.tiles(extents), tiles_of_right = right.tiles(extents);
    auto const says_what_is_divided = HasSubstr(
        "flow_options::memory_limit is 1024 bytes, and data that are divided into tiles "
        "hold 1024 bytes there, which cannot be evicted until the tiles have ended");
    EXPECT_THAT(thrown<driver_error>(transpose),
                AllOf(HasSubstr("need 1024 bytes there"), says_what_is_divided));
    EXPECT_THAT(thrown<driver_error>([&] { b.prefetch_to(last()); }),
                AllOf(HasSubstr("need 512 bytes there"), says_what_is_divided));
  }
  left.prefetch_to_host();
  right.prefetch_to_host();
  transpose();
  EXPECT_EQ(a.host()(3, 2), 7u);
}

}  // namespace
}  // namespace flotilla::test
