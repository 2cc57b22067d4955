// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows: tasks that commute run in any order, but never at the same time.

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>

#include <flotilla/testing/fault_injection.hpp>

#include "contract/flow_fixture.hpp"

namespace flotilla::test {
namespace {

class FlowCommute : public flow_test {
 protected:
  /// Submits a host task that gives `which` its contents after `blocker` has ended.
  void fill_late(word_data& which, ticket const& blocker) {
    fl().post(uses(write(which)),
              host_task([](view<std::uint32_t> all) { std::fill_n(all.data, all.size(), 1u); }),
              {.after = {blocker}});
  }
  ticket hold(held_word const& word) {
    return rt().submit(word.launch_of(program()), {.device = first()});
  }
  /// Submits `sum += 100 * late`. `late` gets its contents when `word` is released.
  ticket add_late(word_data& sum, word_data& late, held_word const& word) {
    fill_late(late, hold(word));
    return fl().submit(add_in_any_order(sum, late, 100), {.device = last()});
  }
};
FLOTILLA_CONTRACT(FlowCommute);

// requirement: a task whose predecessors are not launched delays no task that commutes with it
TEST_P(FlowCommute, ReadyTasksOvertake) {
  if (first() == last()) { GTEST_SKIP() << "the kernel that is held needs a device of its own"; }
  words ones(64, 1), zeros(64, 0);
  word_data sum{fl(), zeros, "sum"}, late{fl(), {64}, "late"}, b{fl(), ones, "b"};
  held_word word{rt()};
  ticket const waits = add_late(sum, late, word);
  std::vector<ticket> ready;
  for (std::uint32_t i = 0; i < 3; ++i) {
    ready.push_back(fl().submit(add_in_any_order(sum, b, 1), {.device = last()}));
  }
  for (ticket const& each : ready) {
    EXPECT_TRUE(pumping(rt(), [&] { return each.ready(); }));
  }
  EXPECT_FALSE(waits.ready());
  word.release();
  EXPECT_EQ(on_host(sum), words(64, 103));
  EXPECT_TRUE(waits.ready());
}

// requirement: every update counts, also from several threads, on several devices and between
// tasks that read or overwrite the data
TEST_P(FlowCommute, EveryUpdateCounts) {
  constexpr std::uint32_t threads = 3, rounds = 30;
  words ones(64, 1), zeros(64, 0);
  word_data sum{fl(), zeros, "sum"}, b{fl(), ones, "b"};
  {
    std::vector<std::jthread> all;
    for (std::uint32_t t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        for (std::uint32_t i = 0; i < rounds; ++i) {
          device_ordinal const device = ordinals()[(i / 7 + t) % ordinals().size()];
          fl().post(add_in_any_order(sum, b, 1), {.device = device});
          if (i % 13 == 0) {
            fl().post(uses(read(sum)), host_task([](view<std::uint32_t const>) {}));
          }
        }
      });
    }
  }
  EXPECT_EQ(on_host(sum), words(64, threads * rounds));
}

// requirement: a task that uses the data otherwise runs after all tasks that commute
TEST_P(FlowCommute, OthersWaitForAll) {
  words ones(64, 1), zeros(64, 0);
  word_data sum{fl(), zeros, "sum"}, late{fl(), {64}, "late"}, b{fl(), ones, "b"};
  held_word word{rt()};
  ticket const held = hold(word);
  fill_late(late, held);
  for (int i = 0; i < 5; ++i) {
    fl().post(add_in_any_order(sum, i == 2 ? late : b, 1), {.device = last()});
  }
  ticket const stirred = fl().submit(stir(sum, 4), {.device = last()});
  ticket const more = fl().submit(add_in_any_order(sum, b, 1), {.device = last()});
  EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
  for (int i = 0; i < 20; ++i) { rt().pump(); }
  EXPECT_FALSE(stirred.ready());
  EXPECT_FALSE(more.ready());
  word.release();
  EXPECT_EQ(on_host(sum), words(64, 5 * 3 + 4 + 1));
}

// requirement: tasks that commute on a token exclude each other, also on several devices
TEST_P(FlowCommute, TokensExclude) {
  token turn{fl(), "turn"};
  int count = 0;  // not atomic
  for (std::size_t i = 0; i < 60; ++i) {
    fl().post(uses(commute(turn)), [&](task_context&) { ++count; },
              {.device = ordinals()[i / 3 % ordinals().size()]});
    if (i % 20 == 0) {
      fl().post(uses(commute(turn)), host_task([&] { ++count; }));
    }
  }
  fl().submit(uses(read(turn)), host_task([] {})).wait();
  EXPECT_EQ(count, 63);
}

// requirement: tasks may have more predecessors than a slot holds
TEST_P(FlowCommute, TasksMayHaveManyPredecessors) {
  words ones(64, 1), zeros(64, 0);
  word_data sum{fl(), zeros, "sum"}, b{fl(), ones, "b"};
  std::vector<ticket> before;
  for (int i = 0; i < 11; ++i) {
    before.push_back(rt().submit([](task_context&) {}, {.device = ordinals()[0]}));
  }
  for (std::size_t i = 0; i < 30; ++i) {
    task_options options{.device = last()};
    for (ticket const& each : before) { (i % 2 ? options.after : options.after_end).add(each); }
    fl().post(add_in_any_order(sum, b, 1), options);
  }
  EXPECT_EQ(on_host(sum), words(64, 30));
}

// requirement: a launch that the driver refuses loses only its own data, and the order stays
TEST_P(FlowCommute, RefusedLaunchesKeepTheOrder) {
  FLOTILLA_NEED_CPU_DRIVER();
  words ones(64, 1), zeros(64, 0), more_zeros(64, 0);
  word_data sum{fl(), zeros, "sum"}, other{fl(), more_zeros, "other"}, b{fl(), ones, "b"};
  for (std::uint64_t nth = 1; nth < 6; ++nth) {
    testing::fail_call("cuLaunchKernel", nth, driver_status::out_of_memory);
    testing::fail_call("cuGraphLaunch", nth, driver_status::out_of_memory);
    for (int i = 0; i < 12; ++i) {
      static_cast<void>(fl().submit(add_in_any_order(sum, b, 1), {.device = last()}));
      fl().post(uses(commute(other)), host_task([](view<std::uint32_t> all) { ++all(0); }));
    }
    rt().wait_idle();
    testing::clear_faults();
    try {
      EXPECT_EQ(on_host(sum)[1] % 12, 0u) << "no task failed, so each of them counts";
    } catch (dependency_failed const&) {
      fl().post(uses(write(sum)),
                host_task([](view<std::uint32_t> all) { std::fill_n(all.data, all.size(), 0u); }));
    }
  }
  EXPECT_EQ(on_host(other)[0], 60u);
}

// requirement: if a task that commutes fails, the data are lost until a task overwrites them
TEST_P(FlowCommute, FailureLosesTheData) {
  words ones(64, 1), zeros(64, 0);
  word_data sum{fl(), zeros, "sum"}, b{fl(), ones, "b"}, c{fl(), ones, "c"};
  fl().post(add_in_any_order(sum, b, 1), {.device = last()});
  static_cast<void>(
      fl().submit(uses(commute(sum)),
                  [](task_context&, view<std::uint32_t>) { throw std::runtime_error{"no result"}; },
                  {.device = last()}));
  static_cast<void>(fl().submit(add_in_any_order(sum, b, 1), {.device = last()}));
  EXPECT_THAT(thrown<dependency_failed>([&] { static_cast<void>(sum.host()); }),
              EndsWith("no result"));
  fl().post(mix(sum, b, c, 7), {.device = last()});
  fl().post(add_in_any_order(sum, b, 1), {.device = last()});
  words expected = mixed(ones, ones, 7);
  for (std::uint32_t& each : expected) { ++each; }
  EXPECT_EQ(on_host(sum), expected);
}

// requirement: a cancelled task delays no other one, and loses the data like a task that failed
TEST_P(FlowCommute, CancelledTaskDelaysNone) {
  if (first() == last()) { GTEST_SKIP() << "the kernel that is held needs a device of its own"; }
  words ones(64, 1), zeros(64, 0);
  word_data sum{fl(), zeros, "sum"}, late{fl(), {64}, "late"}, b{fl(), ones, "b"};
  held_word word{rt()};
  ticket const waits = add_late(sum, late, word);
  EXPECT_TRUE(waits.cancel());
  ticket const ready = fl().submit(add_in_any_order(sum, b, 1), {.device = last()});
  EXPECT_TRUE(pumping(rt(), [&] { return ready.ready(); }));
  word.release();
  EXPECT_THROW(waits.wait(), task_cancelled);
  EXPECT_THROW(static_cast<void>(sum.host()), dependency_failed);
}

// requirement: host tasks and tasks that change other data too keep the order of submission
TEST_P(FlowCommute, SomeTasksKeepTheirOrder) {
  words ones(64, 1), zeros(64, 0), more_ones(64, 1);
  word_data sum{fl(), zeros, "sum"}, other{fl(), more_ones, "other"}, b{fl(), ones, "b"};
  std::vector<int> order;
  for (int i = 0; i < 12; ++i) {
    fl().post(uses(commute(sum)),
              host_task([&order, i](view<std::uint32_t>) { order.push_back(i); }));
  }
  auto const both = kernels().kernel(flow_kernels.add_words).over(64u, 32);
  fl().post(both(commute(sum), update(other), 64u, 2u), {.device = last()});
  fl().post(add_in_any_order(sum, b, 1), {.device = last()});
  EXPECT_EQ(on_host(sum), words(64, 3));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

// requirement: data on which tasks commute can be divided, evicted and ended
TEST_P(FlowCommute, DataCanBeDividedAndEnded) {
  words ones(64, 1), zeros(64, 0);
  {
    word_data sum{fl(), zeros, "sum"}, b{fl(), ones, "b"};
    for (int i = 0; i < 3; ++i) { fl().post(add_in_any_order(sum, b, 1), {.device = last()}); }
    {
      auto tiles = sum.tiles({16});
      for (auto& each : tiles) {
        for (std::uint32_t i = 0; i < 2; ++i) {
          fl().post(kernels()
                        .kernel(flow_kernels.add_words)
                        .over(16u, 32)(commute(each), read(b), 16u, 1u),
                    {.device = last()});
        }
      }
    }
    fl().post(add_in_any_order(sum, b, 1), {.device = first()});
    EXPECT_EQ(on_host(sum), words(64, 6));
    fl().post(add_in_any_order(sum, b, 1), {.device = last()});
  }
  std::vector<words> memory(8, ones);
  flow small{rt(), {.memory_limit = 3 * 512}};
  std::vector<word_data> all;
  for (words& each : memory) { all.emplace_back(small, each); }
  for (std::size_t i = 0; i < 48; ++i) {
    word_data& changed = all[i / 2 % all.size()];
    word_data& other = all[(i / 2 + 1) % all.size()];
    small.post(add_in_any_order(changed, other, 0), {.device = last()});
  }
  for (word_data& each : all) { EXPECT_EQ(on_host(each), ones); }
}

// requirement: a task waits for those that commute with it and became ready earlier, even if it is
// more urgent. A CPU device runs one kernel at a time, the urgent ones first, so without the wait
// the second task would run first
TEST(FlowCommuteOrder, UrgentTasksDoNotOvertakeReadyOnes) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{{.devices = "cpu:1", .workers = 0}};
  test_program const program{rt};
  flotilla::program const loaded = rt.load(flow_kernels);
  auto const stir = loaded.kernel(flow_kernels.stir_words).over(64u, 32);
  flow fl{rt};
  words host(64, 5);
  data<std::uint32_t> x{fl, host, "x"};
  fl.submit(uses(read(x)), [](task_context&, view<std::uint32_t const>) {}).wait();
  {
    held_word word{rt};
    rt.post(word.launch_of(program), {.batch = false});
    ASSERT_TRUE(pumping(rt, [&] { return word.started(); }));
    // The first task overwrites what was read, so it is no part of a group.
    for (std::uint32_t i = 0; i < 4; ++i) {
      fl.post(stir(commute(x), 64u, i), {.batch = false, .priority = -static_cast<int>(i)});
      for (int k = 0; k < 20; ++k) { rt.pump(); }
    }
  }
  view<std::uint32_t const> const seen = x.host();
  words expected(64, 5);
  for (std::uint32_t i = 0; i < 4; ++i) { stir_on_host(expected.data(), 64, i); }
  EXPECT_EQ(words(seen.data, seen.data + 64), expected);
}

}  // namespace
}  // namespace flotilla::test
