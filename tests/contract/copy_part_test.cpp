// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Copies between a part of a buffer and pageable, pinned or device memory. A copy must change only
// the objects of the destination part.

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "support/contract_test.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

using values = std::vector<std::uint32_t>;

class CopyPart : public contract_test {
 protected:
  // The buffer needs more than one staging block, but is so small that the test can compare every
  // object.
  static constexpr std::size_t whole = sanitized ? 300'000 : 900'007;
  struct part {
    std::size_t offset, count;
  };
  static constexpr part parts[] = {{0, 1},           {whole - 1, 1}, {7, 5},
                                   {13, whole - 40}, {0, whole},     {whole, 0}};

  /// Returns `whole` consecutive numbers. The first number is `from`.
  static values numbers(std::uint32_t from) {
    values made(whole);
    std::iota(made.begin(), made.end(), from);
    return made;
  }
  /// Returns a copy of `under` in which the part `at` is replaced by objects of `source`. The first
  /// of these objects has the index `from` in `source`.
  static values with_part(values under, part const& at, values const& source, std::size_t from) {
    std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), at.count,
                under.begin() + static_cast<std::ptrdiff_t>(at.offset));
    return under;
  }
  /// Copies the whole buffer to the host after the task `after` has ended.
  /// @return the objects of the buffer.
  values read(device_buffer<std::uint32_t> const& buffer, ticket const& after) {
    values back(buffer.size());
    rt().submit(buffer.copy_to(back), {.after = {after}}).wait();
    return back;
  }
};
FLOTILLA_CONTRACT(CopyPart);

// requirement: a copy of a part changes no object outside the part, neither in the buffer nor in
// pageable memory
TEST_P(CopyPart, PartIsCopiedFromAndToPageableMemory) {
  values const old = numbers(1), fresh = numbers(2'000'000'000);
  for (part const& at : parts) {
    device_buffer<std::uint32_t> there{rt(), last(), old};
    std::size_t const from = (whole - at.count) / 2;
    ticket const up = rt().submit(
        there.subspan(at.offset, at.count).copy_from(std::span{fresh}.subspan(from, at.count)));
    values const expected = with_part(old, at, fresh, from);
    EXPECT_TRUE(read(there, up) == expected) << at.offset << ", " << at.count;
    values down = fresh;
    rt().submit(std::as_const(there)
                    .subspan(at.offset, at.count)
                    .copy_to(std::span{down}.subspan(from, at.count)))
        .wait();
    EXPECT_TRUE(down == fresh) << "host memory must equal the source after the part is copied back";
    std::fill(down.begin(), down.end(), 5u);
    rt().submit(there.subspan(at.offset, at.count).copy_to(std::span{down}.subspan(from, at.count)))
        .wait();
    EXPECT_TRUE(down == with_part(values(whole, 5u), {from, at.count}, fresh, from));
  }
}

// requirement: a copy of a part changes no object outside the part, neither in the buffer nor in
// pinned memory. If the sizes match, a part can be copied to or from a whole pinned buffer
TEST_P(CopyPart, PartIsCopiedFromAndToPinnedMemory) {
  values const old = numbers(1), fresh = numbers(2'000'000'000);
  host_buffer<std::uint32_t> source{rt(), whole}, target{rt(), whole};
  std::copy(fresh.begin(), fresh.end(), source.begin());
  for (part const& at : parts) {
    device_buffer<std::uint32_t> there{rt(), last(), old};
    std::size_t const from = (whole - at.count) / 2;
    ticket const up = rt().submit(there.subspan(at.offset, at.count)
                                      .copy_from(std::as_const(source).subspan(from, at.count)));
    EXPECT_TRUE(read(there, up) == with_part(old, at, fresh, from))
        << at.offset << ", " << at.count;
    std::fill(target.begin(), target.end(), 5u);
    rt().submit(there.subspan(at.offset, at.count).copy_to(target.subspan(from, at.count))).wait();
    EXPECT_TRUE(values(target.begin(), target.end()) ==
                with_part(values(whole, 5u), {from, at.count}, fresh, from));
  }
  device_buffer<std::uint32_t> larger{rt(), last(), whole + 2};
  ticket const set = rt().submit(larger.fill(9u));
  ticket const up = rt().submit(larger.subspan(1, whole).copy_from(source), {.after = {set}});
  ticket const down = rt().submit(larger.subspan(1, whole).copy_to(target), {.after = {up}});
  values const all = read(larger, down);
  EXPECT_EQ(all.front(), 9u);
  EXPECT_EQ(all.back(), 9u);
  EXPECT_TRUE(std::equal(fresh.begin(), fresh.end(), all.begin() + 1));
  EXPECT_TRUE(std::equal(fresh.begin(), fresh.end(), target.begin()));
}

// requirement: parts are copied between devices, between buffers of one device, and within one
// buffer
TEST_P(CopyPart, PartIsCopiedBetweenDevices) {
  values const old = numbers(1), fresh = numbers(2'000'000'000);
  part const at{13, 5000};
  constexpr std::size_t from = 100'000;
  for (device_ordinal const device : ordinals()) {
    device_buffer<std::uint32_t> const source{rt(), first(), fresh};
    device_buffer<std::uint32_t> pulled{rt(), device, old}, pushed{rt(), device, old};
    ticket const pull =
        rt().submit(pulled.subspan(at.offset, at.count).copy_from(source.subspan(from, at.count)));
    ticket const push =
        rt().submit(source.subspan(from, at.count).copy_to(pushed.subspan(at.offset, at.count)));
    values const expected = with_part(old, at, fresh, from);
    EXPECT_TRUE(read(pulled, pull) == expected) << "from device 0 to " << device.value;
    EXPECT_TRUE(read(pushed, push) == expected) << "from device 0 to " << device.value;
    ticket const within = rt().submit(
        pulled.subspan(whole - 3, 3).copy_from(std::as_const(pulled).subspan(at.offset, 3)));
    EXPECT_TRUE(read(pulled, within) == with_part(expected, {whole - 3, 3}, fresh, from));
  }
}

// requirement: a whole buffer can be copied to or from a part of another buffer if the sizes match
TEST_P(CopyPart, WholeBufferAndPartCopyToEachOther) {
  device_buffer<std::uint32_t> small{rt(), last(), values{1, 2, 3}};
  device_buffer<std::uint32_t> large{rt(), first(), values{9, 9, 9, 9, 9}};
  ticket const up = rt().submit(small.copy_to(large.subspan(1, 3)));
  EXPECT_EQ(read(large, up), (values{9, 1, 2, 3, 9}));
  ticket const down = rt().submit(small.copy_from(large.subspan(2)));
  EXPECT_EQ(read(small, down), (values{2, 3, 9}));
  ticket const again = rt().submit(large.subspan(0, 3).copy_from(small));
  EXPECT_EQ(read(large, again), (values{2, 3, 9, 3, 9}));
}

// requirement: a copy is refused if the sizes of source and destination differ. The message
// contains both sizes
TEST_P(CopyPart, SizesThatDisagreeAreRefused) {
  device_buffer<std::uint32_t> device{rt(), last(), 20}, other{rt(), first(), 20};
  host_buffer<std::uint32_t> pinned{rt(), 20};
  values pageable(20);
  device_span<std::uint32_t> const ten = device.subspan(3, 10);
  auto const both = AllOf(HasSubstr("10"), HasSubstr("11"));
  EXPECT_THAT(thrown<invalid_argument>(
                  [&] { (void)ten.copy_from(std::span<std::uint32_t const>{pageable}.first(11)); }),
              both);
  EXPECT_THAT(thrown<invalid_argument>(
                  [&] { (void)ten.copy_to(std::span<std::uint32_t>{pageable}.first(11)); }),
              both);
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)ten.copy_from(pinned.subspan(2, 11)); }), both);
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)ten.copy_to(pinned.subspan(2, 11)); }), both);
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)ten.copy_from(other.subspan(2, 11)); }), both);
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)ten.copy_to(other.subspan(2, 11)); }), both);
  EXPECT_THROW((void)ten.copy_from(device), invalid_argument);
  EXPECT_THROW((void)device.copy_to(ten), invalid_argument);
  EXPECT_THROW((void)ten.copy_to(device.subspan(3, 9)), invalid_argument);
}

}  // namespace
}  // namespace flotilla::test
