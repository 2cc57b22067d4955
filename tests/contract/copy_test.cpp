// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Small and large copies and fills: between the host and a device, and between devices.

#include <algorithm>
#include <cstdint>

#include "support/contract_test.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

class Copy : public contract_test {
 protected:
  // The size is larger than all staging blocks together, and not a multiple of the block size. With
  // a sanitizer, the size is smaller, because copies of 5 MiB would take a minute.
  static constexpr std::size_t several_mib = (sanitized ? 2 : 5) * 1024 * 1024 + 13;
  static std::vector<std::uint8_t> pattern(std::size_t bytes, unsigned seed) {
    std::vector<std::uint8_t> values(bytes);
    std::uint32_t state = seed * 2654435761u + 1;
    for (auto& each : values) {
      state = state * 1664525u + 1013904223u;
      each = static_cast<std::uint8_t>(state >> 24);
    }
    return values;
  }
};
FLOTILLA_CONTRACT(Copy);

// requirement: pageable memory of any size and alignment is copied, even if the copy needs several
// staging blocks
TEST_P(Copy, PageableMemoryIsCopiedToADeviceAndBack) {
  for (std::size_t const bytes : {std::size_t{1}, std::size_t{4097}, several_mib}) {
    std::vector<std::uint8_t> const up = pattern(bytes + 1, 1);
    std::span<std::uint8_t const> const odd{up.data() + 1, bytes};
    device_buffer<std::uint8_t> there{rt(), last(), bytes};
    ticket const sent = rt().submit(there.copy_from(odd));
    std::vector<std::uint8_t> down(bytes + 3, 0xee);
    rt().submit(there.copy_to(std::span{down.data() + 3, bytes}), {.after = {sent}}).wait();
    EXPECT_TRUE(std::equal(odd.begin(), odd.end(), down.begin() + 3)) << bytes << " bytes";
    EXPECT_EQ(down[2], 0xee) << "the copy wrote to the byte before the span";
  }
}

// requirement: concurrent copies share the staging blocks but do not mix their data
TEST_P(Copy, ManyPageableCopiesAtOnceKeepTheirData) {
  constexpr unsigned copies = 6;
  std::vector<std::vector<std::uint8_t>> up, down;
  std::vector<device_buffer<std::uint8_t>> there;
  std::vector<ticket> sent, got;
  for (unsigned i = 0; i < copies; ++i) {
    up.push_back(pattern(several_mib / 2 + i, i));
    down.emplace_back(up.back().size());
    there.emplace_back(rt(), device_ordinal{i % static_cast<unsigned>(device_count())},
                       up.back().size());
  }
  for (unsigned i = 0; i < copies; ++i) { sent.push_back(rt().submit(there[i].copy_from(up[i]))); }
  for (unsigned i = 0; i < copies; ++i) {
    got.push_back(rt().submit(there[i].copy_to(down[i]), {.after = {sent[i]}}));
  }
  for (unsigned i = 0; i < copies; ++i) {
    got[i].wait();
    EXPECT_TRUE(up[i] == down[i]) << i;
  }
}

// requirement: a copy reads its pageable source only after its predecessor has ended, and not in
// submit
TEST_P(Copy, PageableSourceIsReadAfterItsPredecessor) {
  std::vector<std::uint8_t> up(several_mib, 1);
  device_buffer<std::uint8_t> there{rt(), last(), up.size()};
  ticket const prepared =
      rt().submit([&](task_context&) { std::fill(up.begin(), up.end(), std::uint8_t{9}); },
                  {.device = first()});
  ticket const sent = rt().submit(there.copy_from(up), {.after = {prepared}});
  std::vector<std::uint8_t> down(up.size());
  rt().submit(there.copy_to(down), {.after = {sent}}).wait();
  EXPECT_EQ(std::count(down.begin(), down.end(), 9), static_cast<std::ptrdiff_t>(down.size()));
}

// error guess: a copy reads its host source only after its predecessor has written to this source,
// even if the predecessor is already launched
TEST_P(Copy, HostSourceIsReadAfterTheDeviceHasWrittenIt) {
  device_buffer<std::uint8_t> nines{rt(), first(), several_mib}, there{rt(), last(), several_mib};
  host_buffer<std::uint8_t> between{rt(), several_mib};
  std::fill(between.begin(), between.end(), std::uint8_t{1});
  rt().submit(nines.fill(9)).wait();
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = first()});
  ticket const down = rt().submit(nines.copy_to(between), {.after = {held}});
  std::span<std::uint8_t const> const as_pageable{between.data(), between.size()};
  ticket const up = rt().submit(there.copy_from(as_pageable), {.after = {down}});
  ASSERT_TRUE(pumping(rt(), [&] { return word.started(); }));
  for (int i = 0; i < 5; ++i) { rt().pump(); }
  EXPECT_FALSE(up.ready());
  word.release();
  std::vector<std::uint8_t> back(several_mib);
  rt().submit(there.copy_to(back), {.after = {up}}).wait();
  EXPECT_EQ(std::count(back.begin(), back.end(), 9), static_cast<std::ptrdiff_t>(back.size()));
}

// requirement: copies to and from devices run in the order given by `after`, even if they use the
// same pageable memory
TEST_P(Copy, PageableMemoryCarriesDataBetweenCopies) {
  std::vector<std::uint8_t> host = pattern(several_mib, 3);
  std::vector<std::uint8_t> const expected = host;
  std::vector<device_buffer<std::uint8_t>> there;
  ticket before = rt().submit([](task_context&) {});
  for (unsigned i = 0; i < 4; ++i) {
    there.emplace_back(rt(), device_ordinal{i % static_cast<unsigned>(device_count())},
                       host.size());
    before = rt().submit(there.back().copy_from(host), {.after = {before}});
    before = rt().submit([&](task_context&) {}, {.after = {before}});
    before = rt().submit(there.back().copy_to(host), {.after = {before}});
  }
  before.wait();
  EXPECT_TRUE(host == expected);
}

// requirement
TEST_P(Copy, PinnedMemoryIsCopiedToADeviceAndBack) {
  std::vector<std::uint8_t> const values = pattern(several_mib, 5);
  host_buffer<std::uint8_t> up{rt(), several_mib}, down{rt(), several_mib};
  std::copy(values.begin(), values.end(), up.begin());
  for (device_ordinal const device : ordinals()) {
    device_buffer<std::uint8_t> there{rt(), device, several_mib};
    std::fill(down.begin(), down.end(), std::uint8_t{0});
    ticket const sent = rt().submit(there.copy_from(up));
    rt().submit(there.copy_to(down), {.after = {sent}}).wait();
    EXPECT_TRUE(std::equal(values.begin(), values.end(), down.begin()));
  }
}

// requirement: buffers are copied within each device and between each pair of devices
TEST_P(Copy, EveryPairOfDevicesCopies) {
  std::vector<std::uint8_t> const values = pattern(several_mib, 7);
  for (device_ordinal const from : ordinals()) {
    device_buffer<std::uint8_t> source{rt(), from, values};
    for (device_ordinal const to : ordinals()) {
      device_buffer<std::uint8_t> target{rt(), to, several_mib};
      ticket const carried = rt().submit(source.copy_to(target));
      std::vector<std::uint8_t> back(several_mib);
      rt().submit(target.copy_to(back), {.after = {carried}}).wait();
      EXPECT_TRUE(back == values) << from.value << " to " << to.value;
    }
  }
}

// requirement
TEST_P(Copy, FillWritesEveryElementWidth) {
  auto const check = [&]<class T>(T value) {
    device_buffer<T> there{rt(), last(), 1003};
    std::vector<T> back(1003);
    ticket const set = rt().submit(there.fill(value));
    rt().submit(there.copy_to(back), {.after = {set}}).wait();
    for (T const each : back) { ASSERT_EQ(each, value); }
  };
  check(std::uint8_t{0xa5});
  check(std::uint16_t{0xbeef});
  check(std::uint32_t{0xdeadbeef});
  check(-2.5f);
  check(std::int8_t{-1});
}

// requirement
TEST_P(Copy, CopyBetweenDifferentSizesIsRefused) {
  device_buffer<int> ten{rt(), first(), 10}, eleven{rt(), first(), 11};
  std::vector<int> nine(9);
  host_buffer<int> twelve{rt(), 12};
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)ten.copy_from(nine); }),
              AllOf(HasSubstr("10"), HasSubstr("9")));
  EXPECT_THROW((void)ten.copy_to(nine), invalid_argument);
  EXPECT_THROW((void)ten.copy_from(twelve), invalid_argument);
  EXPECT_THROW((void)ten.copy_to(twelve), invalid_argument);
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)ten.copy_to(eleven); }),
              AllOf(HasSubstr("10"), HasSubstr("11")));
}

// error guess: submit refuses an operation if the options name a device that does not own the
// memory
TEST_P(Copy, CopyOnADeviceWithoutItsMemoryIsRefused) {
  if (device_count() < 2) { GTEST_SKIP() << "needs 2 devices"; }
  device_buffer<int> here{rt(), first(), 10};
  EXPECT_THROW((void)rt().submit(here.fill(1), {.device = last()}), invalid_argument);
  rt().submit(here.fill(1), {.device = first()}).wait();
}

}  // namespace
}  // namespace flotilla::test
