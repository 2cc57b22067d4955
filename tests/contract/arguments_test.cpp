// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Kernel arguments arrive unchanged. Arguments that do not match the kernel's parameters are
// refused.

#include <array>
#include <limits>
#include <utility>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class Arguments : public contract_test {
 protected:
  template <class Words>
  static Words numbered() {
    Words words;
    std::uint32_t i = 0;
    for (auto& word : words.word) { word = ++i * 17; }
    return words;
  }
  template <class Words>
  static std::uint32_t sum_of(Words const& words) {
    std::uint32_t sum = 0, i = 0;
    for (auto const word : words.word) { sum += word * ++i; }
    return sum;
  }
};
FLOTILLA_CONTRACT(Arguments);

// requirement
TEST_P(Arguments, MixedSizesArriveAtTheirOffsets) {
  auto const mixed =
      program().loaded.kernel<char, double, short, unsigned long long, float, double*>(
          "mixed_parameters");
  std::array<double, 5> seen{};
  device_buffer<double> out{rt(), last(), seen};
  ticket const done =
      rt().submit(mixed.with_shape({1}, {1})(char{7}, 2.25, short{-3}, 1ull << 40, 0.5f, out));
  rt().submit(out.copy_to(std::span{seen}), {.after = {done}}).wait();
  EXPECT_EQ(seen, (std::array{7.0, 2.25, -3.0, static_cast<double>(1ull << 40), 0.5}));
}

// requirement: arguments that are too large to be stored inside a launch arrive unchanged
TEST_P(Arguments, HundredsOfBytesArrive) {
  auto const sum = program().loaded.kernel<words_512, std::uint32_t*>("sum_512");
  device_word out{rt(), first()};
  auto const words = numbered<words_512>();
  EXPECT_EQ(out.read({rt().submit(sum.with_shape({1}, {1})(words, out.buffer()))}), sum_of(words));
}

// boundary: arguments of the size that has most room in a task arrive unchanged
TEST_P(Arguments, FourKibibytesOfArgumentsArrive) {
  auto const sum = program().loaded.kernel<words_4088, std::uint32_t*>("sum_4088");
  device_word out{rt(), last()};
  auto const words = numbered<words_4088>();
  launch const described = sum.with_shape({1}, {1})(words, out.buffer());
  EXPECT_EQ(described.argument_bytes(), 4096u);
  EXPECT_EQ(out.read({rt().submit(described)}), sum_of(words));
}

// requirement: submit copies large arguments, so later changes do not affect an open task. The
// memory blocks for these copies are reused
TEST_P(Arguments, LargeArgumentsOfManyOpenTasksStayApart) {
  auto const sum = program().loaded.kernel<words_512, std::uint32_t*>("sum_512");
  host_buffer<std::uint32_t> out{rt(), 300};
  auto words = numbered<words_512>();
  std::vector<std::uint32_t> expected;
  std::vector<ticket> done;
  for (std::size_t i = 0; i < out.size(); ++i) {
    words.word[0] = static_cast<std::uint32_t>(i);
    expected.push_back(sum_of(words));
    done.push_back(rt().submit(sum.with_shape({1}, {1})(words, &out[i])));
  }
  for (ticket const& each : done) { each.wait(); }
  EXPECT_EQ(std::vector<std::uint32_t>(out.begin(), out.end()), expected);
}

// requirement
TEST_P(Arguments, WrongCountOrSizeIsRefusedByName) {
  auto const& loaded = program().loaded;
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)loaded.kernel<>("write_value"); }),
              HasSubstr("write_value"));
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)loaded.kernel<std::uint32_t*>("write_value"); }),
              HasSubstr("write_value"));
  EXPECT_THAT(thrown<invalid_argument>(
                  [&] { (void)loaded.kernel<std::uint32_t*, std::uint32_t, int>("write_value"); }),
              HasSubstr("write_value"));
  EXPECT_THAT(thrown<invalid_argument>(
                  [&] { (void)loaded.kernel<std::uint32_t*, std::uint64_t>("write_value"); }),
              HasSubstr("write_value"));
  EXPECT_THAT(thrown<invalid_argument>(
                  [&] { (void)loaded.kernel<std::uint32_t, std::uint32_t*>("write_value"); }),
              HasSubstr("write_value"));
  EXPECT_THROW((void)loaded.kernel<int>("nothing"), invalid_argument);
}

// requirement
TEST_P(Arguments, EmptyGridOrBlockIsRefusedByName) {
  auto const refused = [&](launch const& empty) {
    EXPECT_THAT(thrown<invalid_argument>([&] { (void)rt().submit(empty); }), HasSubstr("nothing"));
    EXPECT_THAT(thrown<invalid_argument>([&] { (void)rt().try_submit(empty); }),
                HasSubstr("nothing"));
  };
  refused(program().nothing.over(0)());
  refused(program().nothing.with_shape({0}, {1})());
  refused(program().nothing.with_shape({1, 0, 1}, {1})());
  refused(program().nothing.with_shape({1, 1, 0}, {1})());
  refused(program().nothing.with_shape({1}, {0})());
  refused(program().nothing.with_shape({1}, {1, 0})());
  refused(program().nothing.with_shape({1}, {1, 1, 0})());
  refused(program().nothing.over(10, 0)());  // a block size of 0 must not cause a division by zero
}

// boundary: submit accepts the largest grids and blocks that every CUDA device allows, and refuses
// larger ones
TEST_P(Arguments, SizesThatNoDeviceAllowsAreRefusedByName) {
  for (extent const block : {extent{1025}, extent{1, 1025}, extent{1, 1, 65}, extent{32, 33},
                             extent{1024, 1024, 64}, extent{65537, 2, 3}, extent{0xffff'ffff}}) {
    EXPECT_THAT(thrown<invalid_argument>(
                    [&] { (void)rt().submit(program().nothing.with_shape({1}, block)()); }),
                AllOf(HasSubstr("nothing"), HasSubstr("blocks of " + std::to_string(block.x)),
                      HasSubstr("at most 1024 x 1024 x 64")));
  }
  for (extent const block : {extent{1024}, extent{1, 1024}, extent{1, 16, 64}, extent{32, 32}}) {
    rt().submit(program().nothing.with_shape({1}, block)()).wait();
  }
  for (extent const grid : {extent{0x8000'0000}, extent{1, 65536}, extent{1, 1, 0xffff'ffff}}) {
    EXPECT_THAT(thrown<invalid_argument>(
                    [&] { (void)rt().submit(program().nothing.with_shape(grid, {1})()); }),
                AllOf(HasSubstr("nothing"), HasSubstr("a grid of " + std::to_string(grid.x)),
                      HasSubstr("2147483647 x 65535 x 65535")));
  }
  rt().submit(program().nothing.with_shape({3, 65535}, {1})()).wait();
}

// requirement: if the driver refuses a launch, the error states the grid, the block and the dynamic
// shared memory
TEST_P(Arguments, ARefusedLaunchStatesItsShape) {
  ticket const refused =
      rt().submit(program().nothing.with_shape({3}, {32, 2}, std::uint32_t{1} << 30)());
  EXPECT_THAT(
      thrown<driver_error>([&] { refused.wait(); }),
      AllOf(HasSubstr("nothing"), HasSubstr("grid 3 x 1 x 1"), HasSubstr("block 32 x 2 x 1"),
            HasSubstr("1073741824 bytes of dynamic shared memory")));
}

// error guess: a launch that was moved from has no arguments any more and must not be submitted
TEST_P(Arguments, AMovedFromLaunchIsRefused) {
  auto const words = numbered<words_512>();
  device_word out{rt(), first()};
  auto const sum = program().loaded.kernel<words_512, std::uint32_t*>("sum_512");
  launch source = sum.with_shape({1}, {1})(words, out.buffer());
  launch const target = std::move(source);
  launch const copy_of_nothing = source;  // the arguments were outside the launch and are gone
  for (launch const* const each : {&std::as_const(source), &copy_of_nothing}) {
    EXPECT_THAT(thrown<invalid_argument>([&] { (void)rt().submit(*each); }),
                HasSubstr("moved from"));
  }
  EXPECT_EQ(out.read({rt().submit(target)}), sum_of(words));
  source = target;
  EXPECT_EQ(out.read({rt().submit(source)}), sum_of(words));
}

// error guess: if a thread count needs a grid that does not fit into 32 bits, the launch fails and
// does not run with a truncated grid
TEST_P(Arguments, MoreThreadsThanAGridHoldsAreRefused) {
  for (std::uint64_t const threads :
       {(std::uint64_t{1} << 40) + 256, std::numeric_limits<std::uint64_t>::max()}) {
    EXPECT_THROW(rt().submit(program().nothing.over(threads)()).wait(), error) << threads;
  }
}

}  // namespace
}  // namespace flotilla::test
