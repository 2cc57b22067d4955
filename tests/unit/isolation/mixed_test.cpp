// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A runtime with one isolated device and one device in this process.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

#include "unit/isolation/chain_over_devices.hpp"
#include "unit/isolation/mixed_fixture.hpp"

namespace flotilla::test {
namespace {

using ::testing::HasSubstr;

class Mixed : public mixed_fixture {};
INSTANTIATE_TEST_SUITE_P(arrangements, Mixed,
                         ::testing::Combine(::testing::Values(0u, 1u), ::testing::Values(0, 2)));

// requirement
TEST_P(Mixed, EachDeviceReportsItsOwnSettings) {
  runtime const rt{options()};
  EXPECT_EQ(rt.effective_settings(isolated()).isolation, isolation::process);
  EXPECT_EQ(rt.effective_settings(here()).isolation, isolation::none);
  EXPECT_FALSE(can_access_peer(rt, isolated(), here()));
  EXPECT_THAT(why_no_peer_access(rt, here(), isolated()), HasSubstr("is isolated"));
  EXPECT_FALSE(can_access_peer(rt, here(), isolated()));
}

// requirement: kernels run on both devices, and keep their order across devices
TEST_P(Mixed, ChainsCrossDevices) {
  runtime rt{options()};
  expect_chain_over_devices(rt);
}

// requirement: pinned memory can be used by kernels and copies of both devices, in turn
TEST_P(Mixed, PinnedMemoryBelongsToBoth) {
  runtime rt{options()};
  test_program const program{rt};
  for (int round = 0; round < 3; ++round) {  // the second buffer may reuse memory of the first one
    host_buffer<word> shared{rt, 1 << 18};
    std::fill(shared.begin(), shared.end(), 7u);
    ticket last;
    word expected = 7;
    for (word i = 0; i < 20; ++i) {
      dependency_list after;
      if (i != 0) { after = {last}; }
      last = rt.submit(program.step.with_shape({1}, {1})(shared.data(), 3u, i),
                       {.device = device_ordinal{i % 2}, .after = std::move(after)});
      expected = expected * 3 + i;
    }
    last.wait();
    EXPECT_EQ(shared[0], expected);
    for (device_ordinal const each : {here(), isolated()}) {
      device_buffer<word> memory{rt, each, shared.size()};
      ticket const up = rt.submit(memory.copy_from(shared));
      host_buffer<word> back{rt, shared.size()};
      rt.submit(memory.copy_to(back), {.after = {up}}).wait();
      EXPECT_TRUE(std::equal(shared.begin(), shared.end(), back.begin()));
    }
  }
}

// requirement: large copies between the two devices and of pageable memory arrive
TEST_P(Mixed, CopiesArriveBothWays) {
  runtime rt{options()};
  std::vector<word> values(1 << 19), back(values.size());
  std::iota(values.begin(), values.end(), 5u);
  device_buffer<word> begin{rt, here(), values}, there{rt, isolated(), values.size()},
      end{rt, here(), values.size()};
  ticket const out = rt.submit(there.copy_from(begin));
  ticket const in = rt.submit(end.copy_from(there), {.after = {out}});
  rt.submit(end.copy_to(back), {.after = {in}}).wait();
  EXPECT_EQ(back, values);
  rt.submit(there.copy_to(back)).wait();
  EXPECT_EQ(back, values);
}

// requirement: the items of a bulk that any device may run reach both devices
TEST_P(Mixed, BulksRunOnBothDevices) {
  runtime rt{options()};
  test_program const program{rt};
  constexpr std::size_t items = 3000;
  host_buffer<word> counters{rt, items};
  std::fill(counters.begin(), counters.end(), 0u);
  for (word round = 1; round <= 4; ++round) {
    rt.submit(bulk(program.add.over(1, 1), items,
                   [&](std::size_t i) {
                     return std::tuple{counters.data() + i, 1u};
                   }))
        .wait();
    EXPECT_TRUE(std::all_of(counters.begin(), counters.end(), [&](word w) { return w == round; }));
  }
  for (device_ordinal const each : {here(), isolated()}) {
    device_word sum{rt, each};
    rt.submit(bulk(program.add.over(1, 1), items,
                   [&](std::size_t) {
                     return std::tuple{sum.buffer().span(), 1u};
                   }))
        .wait();
    EXPECT_EQ(sum.read(), items);
  }
}

// requirement: a recording may have tasks of both devices; a copy between them is refused
TEST_P(Mixed, RecordingsRunOnBothDevices) {
  runtime rt{options()};
  test_program const program{rt};
  host_buffer<word> shared{rt, 1};
  shared[0] = 0;
  device_word one{rt, here()}, other{rt, isolated()};
  recording round{rt};
  auto const first =
      round.add(program.step.with_shape({1}, {1})(shared.data(), 3u, 1u), {.device = here()});
  round.add(program.add.with_shape({1}, {1})(one.buffer(), 2u));
  round.add(program.add.with_shape({1}, {1})(other.buffer(), 4u));
  round.add(program.step.with_shape({1}, {1})(shared.data(), 5u, 2u),
            {.device = isolated(), .after = {first}});
  word expected = 0;
  for (word i = 1; i <= 5; ++i) {
    round.replay().wait();
    expected = (expected * 3 + 1) * 5 + 2;
    EXPECT_EQ(shared[0], expected);
    EXPECT_EQ(one.read(), 2 * i);
    EXPECT_EQ(other.read(), 4 * i);
  }
  recording refused{rt};
  EXPECT_THAT(thrown<invalid_argument>(
                  [&] { static_cast<void>(refused.add(one.buffer().copy_to(other.buffer()))); }),
              HasSubstr("one of these devices is isolated"));
}

// requirement: a flow moves its data between the devices
TEST_P(Mixed, FlowsMoveDataBetweenDevices) {
  runtime rt{options()};
  test_program const program{rt};
  flow fl{rt};
  std::vector<word> values{1};
  word expected = 1;
  {
    data<word> moved{fl, values};
    for (word i = 0; i < 20; ++i) {
      fl.post(program.step.over(1, 1)(update(moved), 3u, i), {.device = device_ordinal{i % 2}});
      expected = expected * 3 + i;
    }
    static_cast<void>(moved.host());
  }
  EXPECT_EQ(values[0], expected);
}

// requirement: callables of the device in this process have their stream, and only those
TEST_P(Mixed, CallablesHaveAStreamInThisProcess) {
  runtime rt{options()};
  for (device_ordinal const each : {here(), isolated()}) {
    bool has_stream = false;
    rt.submit([&](task_context& context) { has_stream = context.has_stream(); }, {.device = each})
        .wait();
    EXPECT_EQ(has_stream, each == here());
  }
}

// requirement: two runtimes may isolate different devices at the same time
TEST(MixedRuntimes, MayDifferInWhatIsIsolated) {
  FLOTILLA_NEED_DEVICES(2);
  runtime one{mixed_options(0)}, other{mixed_options(1)};
  for (runtime* const rt : {&one, &other}) {
    test_program const program{*rt};
    host_buffer<word> shared{*rt, 1};
    shared[0] = 0;
    for (unsigned device : {0u, 1u}) {
      rt->submit(program.add.with_shape({1}, {1})(shared.data(), 1u),
                 {.device = device_ordinal{device}})
          .wait();
    }
    EXPECT_EQ(shared[0], 2u);
  }
}

// requirement
TEST(MixedRuntimes, RefuseWhatCannotWork) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime_options green = mixed_options(0);
  green.settings.devices[1].context = context_source::green(1);
  EXPECT_THAT(thrown<invalid_argument>([&] { runtime{std::move(green)}; }),
              ::testing::AllOf(HasSubstr("device 1"), HasSubstr("green context")));
  runtime_options primary = mixed_options(0);
  primary.settings.devices[1].context = context_source::primary();
  runtime rt{std::move(primary)};
  test_program const program{rt};
  device_word there{rt, {1}}, here{rt, {0}, 4};
  rt.submit(there.buffer().copy_from(here.buffer())).wait();
  EXPECT_EQ(there.read(), 4u);
}

}  // namespace
}  // namespace flotilla::test
