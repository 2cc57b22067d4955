// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows: reductions.

#include <limits>
#include <optional>
#include <stdexcept>

#include "contract/flow_fixture.hpp"
#include "support/hold.hpp"
#include "support/thrown.hpp"

namespace flotilla {
inline namespace v0_1 {

/// An operation of this test: keeps the object with the larger lower half.
struct larger_low_half {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    return (a & 0xffff) < (b & 0xffff) ? b : a;
  }
};
template <>
struct identity_of<larger_low_half, std::uint32_t> {
  static constexpr std::uint32_t value = 0;
};

}  // namespace v0_1
}  // namespace flotilla

namespace flotilla::test {
namespace {

class FlowReduce : public flow_test {
 protected:
  static constexpr std::size_t size = 40;

  [[nodiscard]] device_ordinal device(std::size_t i) { return ordinals()[i % ordinals().size()]; }
  /// Adds `by` to all words of data.
  void add_on_host(word_data& to, std::uint32_t by) {
    fl().post(uses(reduce(to)), host_task([by](view<std::uint32_t> all) {
                for (std::size_t i = 0; i < all.size(); ++i) { all(i) += by; }
              }));
  }
  [[nodiscard]] static words times(words all, std::uint32_t factor, std::uint32_t plus = 0) {
    for (std::uint32_t& each : all) { each = each * factor + plus; }
    return all;
  }
};
FLOTILLA_CONTRACT(FlowReduce);

// requirement
TEST_P(FlowReduce, TasksOfAllDevicesAddUp) {
  words host = iota(size, 5), other = iota(size, 7);
  word_data sum{fl(), host, "sum"}, x{fl(), other, "x"};
  words const expected = [&] {
    words made = host;
    for (std::size_t i = 0; i < size; ++i) { made[i] += other[i] * 45 + 2; }
    return made;
  }();
  for (std::uint32_t i = 0; i < 10; ++i) { fl().post(add(sum, x, i), {.device = device(i)}); }
  add_on_host(sum, 2);
  EXPECT_FALSE(sum.is_valid_on_host());
  EXPECT_EQ(on_host(sum), expected);
  EXPECT_TRUE(sum.is_valid_on_host());
  EXPECT_EQ(on_host(sum), expected);  // combined once
}

// requirement: without contents, the result is the combination of the partial results
TEST_P(FlowReduce, DataNeedNoContents) {
  words host = iota(size, 1);
  word_data sum{fl(), {size}, "sum"}, x{fl(), host, "x"};
  for (std::uint32_t i = 0; i < 6; ++i) { fl().post(add(sum, x, 1)); }
  EXPECT_EQ(on_host(sum), times(host, 6));
}

// requirement: later tasks on devices get the result, and reductions can go on after it
TEST_P(FlowReduce, TasksReadTheResult) {
  words host = iota(size);
  word_data sum{fl(), {size}, "sum"}, x{fl(), host, "x"};
  for (std::uint32_t i = 0; i < 4; ++i) { fl().post(add(sum, x, 1), {.device = device(i)}); }
  fl().post(stir(sum, 3), {.device = last()});
  for (std::uint32_t i = 0; i < 4; ++i) { fl().post(add(sum, x, 2), {.device = device(i)}); }
  EXPECT_EQ(on_host(sum), times(host, 4 * 3 + 8, 3));
}

// requirement: tasks that reduce on different devices have no order
TEST_P(FlowReduce, DevicesDoNotWaitForEachOther) {
  if (device_count() < 2) { GTEST_SKIP() << "needs 2 devices"; }
  words host = iota(size);
  word_data sum{fl(), {size}, "sum"}, x{fl(), host, "x"};
  // A CPU device runs one operation at a time, so copy everything before it is held.
  for (device_ordinal const each : ordinals()) { fl().post(add(sum, x, 0), {.device = each}); }
  rt().wait_idle();
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  ticket const slow = fl().submit(add(sum, x, 1), {.device = last(), .after = {held}});
  ticket const fast = fl().submit(add(sum, x, 2), {.device = ordinals().front()});
  fast.wait();
  EXPECT_FALSE(slow.ready());
  word.release();
  EXPECT_EQ(on_host(sum), times(host, 3));
}

// requirement: a task that writes the data discards the partial results
TEST_P(FlowReduce, WritersDiscard) {
  words host = iota(size), other = iota(size);
  word_data sum{fl(), host, "sum"}, x{fl(), other, "x"};
  add_on_host(sum, 9);
  fl().post(add(sum, x, 1), {.device = last()});
  fl().post(uses(write(sum)), host_task([](view<std::uint32_t> all) {
              for (std::size_t i = 0; i < all.size(); ++i) { all(i) = 4; }
            }));
  fl().post(add(sum, x, 1), {.device = last()});
  EXPECT_EQ(on_host(sum), times(other, 1, 4));
  EXPECT_EQ(host[1], 5u);
}

// requirement: partial results of another operation are combined first
TEST_P(FlowReduce, OperationsFollowEachOther) {
  word_data x{fl(), {3}, "x"};
  auto const change = [&](auto op, std::uint32_t by, device_ordinal) {
    fl().post(uses(reduce(x, op)), host_task([op, by](view<std::uint32_t> all) {
                for (std::size_t i = 0; i < all.size(); ++i) {
                  all(i) = op(all(i), by + static_cast<std::uint32_t>(i));
                }
              }));
  };
  change(std::plus<>{}, 10, last());
  change(std::plus<>{}, 1, last());            // 11, 13, 15
  change(minimum{}, 12, last());               // 11, 13, 14
  change(maximum{}, 12, last());               // 12, 13, 14
  change(std::multiplies<>{}, 2, last());      // 24, 39, 56
  change(std::bit_or<>{}, 1, last());          // 25, 39, 59
  change(std::bit_and<>{}, 0xfe, last());      // 24, 39, 0
  change(std::bit_xor<>{}, 1, last());         // 25, 37, 3
  change(larger_low_half{}, 0xf001e, last());  // 0xf001e, 37, 0xf0020
  EXPECT_EQ(on_host(x), (words{0xf001e, 37, 0xf0020}));
}

// requirement: the identities of floating-point operations are infinite
TEST_P(FlowReduce, IdentitiesOfOtherTypes) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  data<double> least{fl(), {2}, "least"}, most{fl(), {2}, "most"};
  data<std::int8_t> small{fl(), {1}, "small"};
  auto const nothing = [](task_context&, auto&&...) {};
  fl().post(uses(reduce(least, minimum{}), reduce(most, maximum{}), reduce(small, minimum{})),
            nothing, {.device = last()});
  EXPECT_EQ(least.host()(1), infinity);
  EXPECT_EQ(most.host()(0), -infinity);
  EXPECT_EQ(small.host()(0), 127);
}

// requirement: a failed task loses the data, and a later writer heals them
TEST_P(FlowReduce, FailuresLoseTheResult) {
  words host = iota(size);
  word_data sum{fl(), {size}, "sum"}, x{fl(), host, "x"};
  fl().post(add(sum, x, 1), {.device = last()});
  ticket const failed = fl().submit(uses(reduce(sum)), host_task([](view<std::uint32_t>) {
                                      throw std::runtime_error("no contribution");
                                    }));
  EXPECT_THAT(thrown<dependency_failed>([&] { static_cast<void>(on_host(sum)); }),
              AllOf(HasSubstr("data 'sum'"), EndsWith("no contribution")));
  EXPECT_THROW(failed.wait(), std::runtime_error);
  fl().post(uses(write(sum)), host_task([](view<std::uint32_t> all) { all(1) = 5; }));
  EXPECT_EQ(on_host(sum)[1], 5u);
}

// requirement: a task that was refused leaves the data without contents. regression: the data
// seemed to have contents, because they had a partial result
TEST_P(FlowReduce, RefusedTasksChangeNothing) {
  flow little{rt(), {.memory_limit = 512}};
  constexpr std::size_t many = 4096;
  word_data sum{little, {many}, "sum"};
  auto const nothing = [](auto&&...) {};
  auto const refused = [&](auto& which) {
    EXPECT_THROW(little.post(uses(reduce(which)), nothing, {.device = last()}), driver_error);
    EXPECT_THAT(thrown<invalid_argument>([&] { static_cast<void>(which.host()); }),
                HasSubstr("no contents"));
    EXPECT_THAT(
        thrown<invalid_argument>([&] { little.post(uses(read(which)), host_task(nothing)); }),
        HasSubstr("no contents"));
  };
  refused(sum);
  {
    auto tiles = sum.tiles({many / 2});
    refused(tiles(0));
    little.post(uses(write(tiles(1))), host_task([](view<std::uint32_t> all) { all(0) = 1; }));
  }
  EXPECT_THAT(thrown<invalid_argument>([&] { static_cast<void>(sum.host()); }),
              HasSubstr("no contents"));
  little.post(uses(reduce(sum)), host_task([](view<std::uint32_t> all) { all(1) += 3; }));
  EXPECT_EQ(on_host(sum)[1], 3u);
}

// requirement: the library knows the identities of arithmetic types only, and no wrong ones
TEST_P(FlowReduce, OperationsNeedAnIdentity) {
  struct half {
    std::uint16_t bits;
    bool operator<(half other) const { return bits < other.bits; }
  };
  static_assert(reduction_of<minimum, double> && reduction_of<std::plus<float>, float>);
  static_assert(!reduction_of<minimum, half> && !reduction_of<maximum, half>);
  static_assert(!reduction_of<std::bit_or<>, double> && !reduction_of<std::minus<>, int>);
  static_assert(reduction_of<larger_low_half, std::uint32_t>);
}

// requirement
TEST_P(FlowReduce, MistakesAreNamed) {
  word_data sum{fl(), {size}, "sum"};
  EXPECT_THAT(thrown<invalid_argument>([&] { static_cast<void>(on_host(sum)); }),
              HasSubstr("no contents"));
  EXPECT_THAT(thrown<invalid_argument>([&] {
                fl().post(uses(reduce(sum), reduce(sum)),
                          host_task([](view<std::uint32_t>, view<std::uint32_t>) {}));
              }),
              HasSubstr("data 'sum' occur twice"));
  flow other{rt()};
  EXPECT_THAT(thrown<invalid_argument>(
                  [&] { other.post(uses(reduce(sum)), host_task([](view<std::uint32_t>) {})); }),
              HasSubstr("data 'sum' belong to another flow"));
  EXPECT_FALSE(sum.is_valid_on_host());
}

// requirement: tiles can be reduced, and the whole has the results
TEST_P(FlowReduce, TilesAddUp) {
  constexpr std::size_t rows = 5, columns = 6;
  words host = iota(rows * columns), expected = host;
  data<std::uint32_t, 2> whole{fl(), host, {rows, columns}, "whole"};
  auto const add_to = [&](data<std::uint32_t, 2>& which, std::uint32_t salt) {
    return kernels().kernel(flow_kernels.add_to_matrix).with_shape({1}, {32})(reduce(which), salt);
  };
  for (std::size_t i = 0; i < 2 * ordinals().size(); ++i) {
    auto tiles = whole.tiles({2, 3});
    for (auto& tile : tiles) { fl().post(add_to(tile, 1), {.device = device(i)}); }
    fl().post(add_to(tiles(1, 1), 7), {.device = last()});
  }
  fl().post(add_to(whole, 0), {.device = last()});
  for (std::uint32_t i = 0; i < rows; ++i) {
    for (std::uint32_t j = 0; j < columns; ++j) {
      std::uint32_t const in_tile = i % 2 * 3 + j % 3;
      auto const rounds = static_cast<std::uint32_t>(2 * ordinals().size());
      std::uint32_t& word = expected[i * columns + j];
      word += rounds * (1 + in_tile) + i * columns + j;
      if (i / 2 == 1 && j / 3 == 1) { word += rounds * (7 + in_tile); }
    }
  }
  view<std::uint32_t const, 2> const seen = whole.host();
  EXPECT_EQ((words{seen.data, seen.data + seen.size()}), expected);
}

// requirement: data may end before their partial results are combined, and so may tiles
TEST_P(FlowReduce, DataMayEndBefore) {
  words host = iota(size), other = iota(size);
  word_data x{fl(), other, "x"};
  for (int i = 0; i < 3; ++i) {
    word_data sum{fl(), host, "sum"};
    fl().post(add(sum, x, 1), {.device = last()});
    add_on_host(sum, 1);
    auto tiles = sum.tiles({size / 2});
    add_on_host(tiles(1), 1);
  }
  rt().wait_idle();
  EXPECT_EQ(other, iota(size));
}

// requirement: partial results are evicted like other data
TEST_P(FlowReduce, WithLittleMemory) {
  flow little{rt(), {.memory_limit = 2 * 512}};
  words host = iota(size);
  word_data x{little, host, "x"};
  std::vector<word_data> sums;
  for (int i = 0; i < 8; ++i) { sums.emplace_back(little, std::array{size}, "sum"); }
  for (std::uint32_t i = 0; i < 40; ++i) {
    little.post(add(sums[i % 8], x, i), {.device = last()});
  }
  for (std::uint32_t i = 0; i < 8; ++i) { EXPECT_EQ(on_host(sums[i]), times(host, 5 * i + 80)); }
}

// regression: the error named a partial result, which another thread could combine meanwhile
TEST_P(FlowReduce, MissingMemoryIsOfTheProgramsData) {
  flow little{rt(), {.memory_limit = 2 * 512}};
  words host = iota(size);
  word_data x{little, host, "x"}, y{little, host, "y"}, z{little, {size}, "z"};
  word_data sum{little, {size}, "sum"};
  little.post(add(sum, x, 1), {.device = last()});
  z.host_for_update()(0) = 1;
  little.post(add(z, y, 1), {.device = last()});  // evicts the partial result
  EXPECT_THAT(thrown<driver_error>([&] {
                auto const mix_all = kernels().kernel(flow_kernels.mix_words).over(size, 32);
                little.post(mix_all(reduce(sum), read(x), read(y), std::uint32_t{size}, 0u),
                            {.device = last()});
              }),
              HasSubstr("(data 'sum' have no memory)"));
  rt().wait_idle();  // copies may still use `host`
}

}  // namespace
}  // namespace flotilla::test
