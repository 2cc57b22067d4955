// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Fills with objects of any size, fills of parts of buffers, and values that a fill refuses.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

/// An object of `N` bytes.
template <std::size_t N>
using bytes_of_size = std::array<std::uint8_t, N>;

/// Returns `N` bytes that repeat a sequence of `period` different bytes.
template <std::size_t N>
bytes_of_size<N> repeating(std::size_t period) {
  bytes_of_size<N> value;
  for (std::size_t i = 0; i < N; ++i) { value[i] = static_cast<std::uint8_t>(i % period + 1); }
  return value;
}

class Fill : public contract_test {
 protected:
  /// Fills parts of a buffer with `value`. Checks that only these parts change.
  template <class T>
  void expect_filled(T const& value, char const* what) {
    constexpr std::size_t large = 5003;
    T old;
    std::memset(&old, 0xee, sizeof old);
    for (std::size_t const size : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{7},
                                   std::size_t{64}, std::size_t{1001}, large}) {
      for (std::size_t const offset : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
        device_buffer<T> there{rt(), last(), std::vector<T>(offset + size + 2, old)};
        memory_op const described = there.subspan(offset, size).fill(value);
        EXPECT_EQ(described.size_bytes(), size * sizeof(T));
        EXPECT_EQ(described.device(), last());
        ticket const filled = rt().submit(described);
        std::vector<T> back(there.size()), expected(there.size(), old);
        std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(offset), size, value);
        rt().submit(there.copy_to(back), {.after = {filled}}).wait();
        ASSERT_EQ(std::memcmp(back.data(), expected.data(), back.size() * sizeof(T)), 0)
            << what << " of " << sizeof(T) << " bytes: " << size << " objects at offset " << offset;
      }
    }
  }
};
FLOTILLA_CONTRACT(Fill);

// requirement
TEST_P(Fill, NumbersOfEverySizeAreFilledIn) {
  expect_filled(std::uint8_t{0xa5}, "number");
  expect_filled(std::uint16_t{0xbeef}, "number");
  expect_filled(std::uint32_t{0xdeadbeef}, "number");
  expect_filled(std::uint64_t{0x0123'4567'89ab'cdef}, "number");
  expect_filled(-2.5, "number");
}

// requirement: a fill accepts any object of at most 64 bytes
TEST_P(Fill, ObjectsThatDoNotRepeatAreFilledIn) {
  expect_filled(repeating<3>(3), "object");
  expect_filled(repeating<8>(8), "object");
  expect_filled(repeating<12>(12), "object");
  expect_filled(repeating<16>(16), "object");
  expect_filled(repeating<24>(24), "object");
  expect_filled(repeating<64>(64), "object");
}

// regression: a fill wrote 4-byte words to an address that was not a multiple of 4, and the driver
// refused this fill. An object in a buffer can have such an address if the object's size is not a
// multiple of 4
TEST_P(Fill, ObjectsWhoseSizeIsNoMultipleOfFourAreFilledIn) {
  expect_filled(repeating<5>(5), "object");
  expect_filled(repeating<6>(6), "object");
  expect_filled(repeating<7>(7), "object");
  expect_filled(repeating<63>(63), "object");
}

// requirement: a fill accepts an object of any size if the object repeats a sequence of at most 64
// bytes
TEST_P(Fill, ObjectsThatRepeatAreFilledIn) {
  expect_filled(repeating<6>(2), "object of 2");
  expect_filled(repeating<12>(4), "object of 4");
  expect_filled(repeating<24>(3), "object of 3");
  expect_filled(repeating<128>(64), "object of 64");
  expect_filled(repeating<100>(50), "object of 50");
  expect_filled(bytes_of_size<100>{}, "zeros");
}

// error guess: a fill is correct even if the object ends in the middle of a repetition, or if its
// last byte breaks the repetition
TEST_P(Fill, ObjectThatEndsAmidARepetitionIsFilledIn) {
  expect_filled(repeating<5>(2), "object");
  expect_filled(repeating<64>(3), "object");
  bytes_of_size<8> ends_differently = repeating<8>(1);
  ends_differently.back() = 0;
  expect_filled(ends_differently, "object");
}

// requirement: an object of more than 64 bytes that repeats no sequence of at most 64 bytes is
// refused. The message contains the size and the limit
TEST_P(Fill, ValueThatDoesNotRepeatAtMost64BytesIsRefused) {
  device_buffer<bytes_of_size<100>> there{rt(), last(), 4};
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)there.fill(repeating<100>(100)); }),
              AllOf(HasSubstr("100"), HasSubstr("64")));
  device_buffer<bytes_of_size<65>> by_one{rt(), last(), 4};
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)by_one.subspan(1).fill(repeating<65>(65)); }),
              AllOf(HasSubstr("65"), HasSubstr("64")));
  device_buffer<bytes_of_size<130>> twice{rt(), last(), 4};
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)twice.fill(repeating<130>(65)); }),
              AllOf(HasSubstr("130"), HasSubstr("64"), HasSubstr("65")));
}

// requirement: `fill` copies the value. The operation that `fill` returns can be submitted several
// times
TEST_P(Fill, DescribedFillIsSubmittedOftenAndInOrder) {
  device_buffer<std::uint64_t> there{rt(), last(), 100};
  std::uint64_t value = 1;
  memory_op const ones = there.fill(value);
  value = 2;
  memory_op const twos = there.subspan(10, 80).fill(value);
  value = 3;
  ticket before = rt().submit(ones);
  for (int i = 0; i < 5; ++i) {
    before = rt().submit(twos, {.after = {before}});
    before = rt().submit(ones, {.after = {before}});
  }
  before = rt().submit(twos, {.after = {before}});
  std::vector<std::uint64_t> back(100);
  rt().submit(there.copy_to(back), {.after = {before}}).wait();
  EXPECT_EQ(std::count(back.begin(), back.end(), 1u), 20);
  EXPECT_EQ(std::count(back.begin() + 10, back.begin() + 90, 2u), 80);
}

// requirement: a recording accepts only fill values that repeat 1, 2 or 4 bytes. Other values are
// refused, and the message contains the length of the repeated sequence in bytes
TEST_P(Fill, RecordingTakesShortRepetitionsOnly) {
  device_buffer<bytes_of_size<12>> there{rt(), last(), 40};
  recording steps{rt()};
  recorded_task const ones = steps.add(there.subspan(1, 9).fill(repeating<12>(1)));
  recorded_task const twos =
      steps.add(there.subspan(11, 9).fill(repeating<12>(2)), {.after = {ones}});
  recorded_task const fours =
      steps.add(there.subspan(21, 9).fill(repeating<12>(4)), {.after = {twos}});
  for (std::size_t const period : {std::size_t{3}, std::size_t{6}, std::size_t{12}}) {
    memory_op const longer = there.fill(repeating<12>(period));
    auto const by_name =
        AllOf(HasSubstr("pattern of " + std::to_string(period) + " bytes"), HasSubstr("1, 2 or 4"));
    EXPECT_THAT(thrown<invalid_argument>([&] { steps.add(longer); }), by_name);
    EXPECT_THAT(thrown<invalid_argument>([&] { steps.set(fours, longer); }), by_name);
  }
  EXPECT_EQ(steps.size(), 3u);
  bytes_of_size<12> const old = repeating<12>(12);
  ticket const filled = rt().submit(there.fill(old));
  ticket const replayed = steps.replay({.after = {filled}});
  std::vector<bytes_of_size<12>> back(40), expected(40, old);
  std::fill_n(expected.begin() + 1, 9, repeating<12>(1));
  std::fill_n(expected.begin() + 11, 9, repeating<12>(2));
  std::fill_n(expected.begin() + 21, 9, repeating<12>(4));
  rt().submit(there.copy_to(back), {.after = {replayed}}).wait();
  EXPECT_EQ(back, expected);
}

}  // namespace
}  // namespace flotilla::test
