// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Spans of device and host memory: parts, conversions to const, and spans as kernel arguments.

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class Span : public contract_test {};
FLOTILLA_CONTRACT(Span);

// requirement: conversions may add const, but never remove it

static_assert(std::convertible_to<device_span<int>, device_span<int const>>);
static_assert(!std::constructible_from<device_span<int>, device_span<int const>>);
static_assert(!std::constructible_from<device_span<long const>, device_span<int>>);
static_assert(std::convertible_to<host_span<int>, host_span<int const>>);
static_assert(!std::constructible_from<host_span<int>, host_span<int const>>);
static_assert(std::convertible_to<host_span<int>, std::span<int>>);
static_assert(std::convertible_to<host_span<int>, std::span<int const>>);
static_assert(!std::constructible_from<std::span<int>, host_span<int const>>);
static_assert(std::convertible_to<device_buffer<int>&, device_span<int>>);
static_assert(std::convertible_to<device_buffer<int>&, device_span<int const>>);
static_assert(std::convertible_to<device_buffer<int> const&, device_span<int const>>);
static_assert(!std::constructible_from<device_span<int>, device_buffer<int> const&>);

template <class From, class To>
concept casts = requires(From&& from) {
  static_cast<To>(std::forward<From>(from));
};
static_assert(casts<device_buffer<float>&, float*> && casts<device_buffer<float>&, float const*>);
static_assert(casts<device_buffer<float> const&, float const*>);
static_assert(!casts<device_buffer<float> const&, float*>);
static_assert(casts<device_span<float>, float*> && casts<device_span<float>, float const*>);
static_assert(casts<device_span<float const>, float const*>);
static_assert(!casts<device_span<float const>, float*>);
// Conversions to pointers are explicit, so they do not happen by accident, for example in an `if`.
static_assert(!std::convertible_to<device_buffer<float>&, float*>);
static_assert(!std::convertible_to<device_span<float>, float*>);

template <class To, class From>
concept copies_from = requires(To& to, From& from) {
  to.copy_from(from);
};
template <class From, class To>
concept copies_to = requires(From& from, To& to) {
  from.copy_to(to);
};
template <class Memory>
concept fills = requires(Memory& memory) {
  memory.fill(1);
};

static_assert(fills<device_buffer<int>> && !fills<device_buffer<int> const>);
static_assert(fills<device_span<int>> && fills<device_span<int> const>);
static_assert(!fills<device_span<int const>>);

/// Whether `To` accepts copies from every kind of readable memory.
template <class To>
constexpr bool is_written_from_all =
    copies_from<To, std::vector<int> const>&& copies_from<To, std::span<int const>>&&
        copies_from<To, host_buffer<int> const>&& copies_from<To, host_buffer<int>>&&
            copies_from<To, host_span<int const>>&& copies_from<To, host_span<int>>&&
                copies_from<To, device_buffer<int> const>&& copies_from<To, device_buffer<int>>&&
                    copies_from<To, device_span<int const>>&& copies_from<To, device_span<int>>;
template <class To>
constexpr bool is_written_from_any =
    copies_from<To, std::vector<int> const> || copies_from<To, std::span<int const>> ||
    copies_from<To, host_buffer<int>> || copies_from<To, host_span<int>> ||
    copies_from<To, device_buffer<int>> || copies_from<To, device_span<int>>;
static_assert(is_written_from_all<device_buffer<int>>);
static_assert(is_written_from_all<device_span<int>>);
static_assert(is_written_from_all<device_span<int> const>);
static_assert(!is_written_from_any<device_buffer<int> const>);
static_assert(!is_written_from_any<device_span<int const>>);

/// Whether `From` can be copied to every kind of writable memory.
template <class From>
constexpr bool is_read_to_all =
    copies_to<From, std::vector<int>>&& copies_to<From, std::span<int>>&&
        copies_to<From, host_buffer<int>>&& copies_to<From, host_span<int>>&&
            copies_to<From, device_buffer<int>>&& copies_to<From, device_span<int>>;
template <class From>
constexpr bool is_read_to_const =
    copies_to<From, std::vector<int> const> || copies_to<From, std::span<int const>> ||
    copies_to<From, host_buffer<int> const> || copies_to<From, host_span<int const>> ||
    copies_to<From, device_buffer<int> const> || copies_to<From, device_span<int const>>;
static_assert(is_read_to_all<device_buffer<int>> && is_read_to_all<device_buffer<int> const>);
static_assert(is_read_to_all<device_span<int>> && is_read_to_all<device_span<int const>>);
static_assert(!is_read_to_const<device_buffer<int>> && !is_read_to_const<device_span<int>>);
static_assert(!is_read_to_const<device_span<int const>>);
// Source and destination must have the same element type.
static_assert(!copies_from<device_buffer<int>, std::vector<float>>);
static_assert(!copies_from<device_span<int>, device_span<unsigned>>);

// requirement: a span of a part of a buffer has the address and size of this part, and the device
// of the buffer
TEST_P(Span, PartOfADeviceBufferKnowsItsPlace) {
  device_buffer<std::uint32_t> buffer{rt(), last(), 10};
  device_span<std::uint32_t> const all = buffer;
  EXPECT_EQ(all.data(), buffer.data());
  EXPECT_EQ(all.size(), 10u);
  EXPECT_EQ(all.size_bytes(), 40u);
  EXPECT_EQ(buffer.subspan(0).size(), 10u);
  device_span<std::uint32_t> const middle = buffer.subspan(3, 4);
  EXPECT_EQ(middle.address(), buffer.address() + 12);
  EXPECT_EQ(middle.size(), 4u);
  EXPECT_EQ(middle.size_bytes(), 16u);
  EXPECT_EQ(middle.device(), last());
  EXPECT_FALSE(middle.empty());
  EXPECT_EQ(static_cast<std::uint32_t*>(middle), buffer.data() + 3);
  device_span<std::uint32_t const> const part = std::as_const(buffer).subspan(3).subspan(1, 2);
  EXPECT_EQ(part.address(), buffer.address() + 16);
  EXPECT_EQ(part.size(), 2u);
  EXPECT_EQ(part.device(), last());
  device_span<std::uint32_t const> const tail = middle.subspan(1);
  EXPECT_EQ(tail.size(), 3u);
  EXPECT_EQ(tail.data(), buffer.data() + 4);
}

// boundary
TEST_P(Span, EmptyPartsAreAllowedUpToTheEnd) {
  device_buffer<std::uint32_t> buffer{rt(), first(), 5};
  host_buffer<std::uint32_t> pinned{rt(), 5};
  EXPECT_TRUE(buffer.subspan(0, 0).empty());
  EXPECT_TRUE(buffer.subspan(5).empty());
  EXPECT_TRUE(buffer.subspan(5, 0).empty());
  EXPECT_EQ(buffer.subspan(5).device(), first());
  EXPECT_TRUE(pinned.subspan(5).empty());
  EXPECT_TRUE(pinned.subspan(2, 0).empty());
  EXPECT_TRUE(device_span<int>{}.subspan(0).empty());
  EXPECT_TRUE(host_span<int const>{}.subspan(0, 0).empty());
  rt().submit(buffer.subspan(5).fill(1u)).wait();
  rt().submit(buffer.subspan(2, 0).copy_to(pinned.subspan(5))).wait();
}

/// Checks that `memory`, which has 8 objects, refuses every part that is not completely inside it.
template <class Memory>
void expect_parts_refused(Memory const& memory) {
  constexpr std::size_t max = std::numeric_limits<std::size_t>::max();
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)memory.subspan(3, 6); }),
              AllOf(HasSubstr("size 6"), HasSubstr("offset 3"), HasSubstr("size 8")));
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)memory.subspan(9); }),
              AllOf(HasSubstr("offset 9"), HasSubstr("size 8")));
  EXPECT_THROW((void)memory.subspan(9, 0), invalid_argument);
  EXPECT_THROW((void)memory.subspan(8, 1), invalid_argument);
  EXPECT_THROW((void)memory.subspan(0, 9), invalid_argument);
  // error guess: a part is refused even if the sum of offset and count wraps around to a small
  // number
  EXPECT_THROW((void)memory.subspan(4, max - 3), invalid_argument);
  EXPECT_THROW((void)memory.subspan(4, max - 1), invalid_argument);
  EXPECT_THROW((void)memory.subspan(max, 2), invalid_argument);
  EXPECT_THROW((void)memory.subspan(max), invalid_argument);
  EXPECT_THROW((void)memory.subspan(max / 4 + 2, 1), invalid_argument);
}

// requirement: a part outside the memory is refused, and the message contains the offset, the count
// and the size of the memory
TEST_P(Span, PartThatDoesNotLieInTheMemoryIsRefused) {
  device_buffer<std::uint32_t> buffer{rt(), last(), 8}, larger{rt(), last(), 12};
  host_buffer<std::uint32_t> pinned{rt(), 8}, larger_pinned{rt(), 12};
  expect_parts_refused(buffer);
  expect_parts_refused(buffer.span());
  expect_parts_refused(larger.subspan(2, 8));  // the buffer continues after the span
  expect_parts_refused(pinned);
  expect_parts_refused(pinned.span());
  expect_parts_refused(larger_pinned.subspan(2, 8));
}

// requirement
TEST_P(Span, PartOfAHostBufferIsReadAndWritten) {
  host_buffer<std::uint32_t> pinned{rt(), 6};
  for (std::uint32_t i = 0; i < 6; ++i) { pinned[i] = i; }
  host_span<std::uint32_t> const part = pinned.subspan(2, 3);
  EXPECT_EQ(part.data(), pinned.data() + 2);
  EXPECT_EQ(part.size(), 3u);
  EXPECT_EQ(part.size_bytes(), 12u);
  EXPECT_EQ(part.end() - part.begin(), 3);
  part[1] = 30;
  EXPECT_EQ(pinned[3], 30u);
  std::span<std::uint32_t> const plain = part;
  EXPECT_EQ(plain.data(), part.data());
  EXPECT_EQ(plain.size(), 3u);
  host_span<std::uint32_t const> const rest = std::as_const(pinned).subspan(4);
  EXPECT_EQ(rest[1], 5u);
  EXPECT_EQ(host_span<std::uint32_t const>{part}.subspan(2)[0], 4u);
}

// requirement: a kernel accepts spans as arguments, and the launch runs on the device of these
// spans
TEST_P(Span, KernelsTakeSpans) {
  std::vector<std::uint32_t> const values{1, 2, 3, 4};
  for (device_ordinal const device : ordinals()) {
    device_buffer<std::uint32_t> words{rt(), device, values};
    device_buffer<std::uint32_t> const source{rt(), device, values};
    launch const write = program().write.with_shape({1}, {1})(words.subspan(1, 1), 20u);
    EXPECT_EQ(write.device(), device);
    ticket const written = rt().submit(write);
    EXPECT_EQ(written.device(), device);
    // The kernel reads from a span of const objects and writes to a span of mutable objects.
    launch const copy = program().copy.with_shape({1}, {1})(words.subspan(3), source.subspan(1, 2));
    EXPECT_EQ(copy.device(), device);
    ticket const copied = rt().submit(copy);
    std::vector<std::uint32_t> back(4);
    rt().submit(words.copy_to(back), {.after = {written, copied}}).wait();
    EXPECT_EQ(back, (std::vector<std::uint32_t>{1, 20, 3, 2}));
  }
}

// requirement: without peer access, a launch with spans of two devices is refused by `submit`
TEST_P(Span, SpansOfTwoDevicesInOneLaunchAreRefused) {
  if (device_count() < 2) { GTEST_SKIP() << "needs 2 devices"; }
  runtime_options changed = options();
  changed.settings.all.peer_access = false;
  start(std::move(changed));
  device_buffer<std::uint32_t> here{rt(), first(), 4}, there{rt(), last(), 4};
  auto const copy = program().copy.with_shape({1}, {1});
  EXPECT_THAT(
      thrown<invalid_argument>([&] { (void)rt().submit(copy(here.subspan(1), there.subspan(2))); }),
      AllOf(HasSubstr("copy_value"), HasSubstr("argument 1"), HasSubstr("device 0"),
            HasSubstr("device " + std::to_string(last().value))));
  EXPECT_THROW((void)rt().submit(copy(here, std::as_const(there).span())), invalid_argument);
  EXPECT_THROW((void)rt().submit(copy(there.span(), here)), invalid_argument);
  EXPECT_THROW((void)rt().submit(program().write.with_shape({1}, {1})(there.subspan(1), 1u),
                                 {.device = first()}),
               invalid_argument);
}

// requirement
TEST_P(Span, SpansOfAnotherRuntimeAreRefused) {
  runtime other{options()};
  device_buffer<std::uint32_t> foreign{other, first(), 4}, own{rt(), first(), 4};
  EXPECT_THAT(thrown<wrong_runtime>(
                  [&] { (void)program().write.with_shape({1}, {1})(foreign.subspan(1), 1u); }),
              HasSubstr("argument 0"));
  EXPECT_THROW((void)own.subspan(1).copy_from(foreign.subspan(1)), wrong_runtime);
  EXPECT_THROW((void)own.subspan(1).copy_to(foreign.subspan(1)), wrong_runtime);
  EXPECT_THROW((void)rt().submit(foreign.subspan(1).fill(1u)), wrong_runtime);
}

}  // namespace
}  // namespace flotilla::test
