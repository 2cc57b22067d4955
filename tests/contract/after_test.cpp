// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The order of tasks that name predecessors in `task_options::after`.

#include <algorithm>
#include <array>
#include <atomic>
#include <stdexcept>

#include "support/contract_test.hpp"
#include "support/driver_in_use.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

class After : public contract_test {};
FLOTILLA_CONTRACT(After);

// requirement
TEST_P(After, ChainOnOneDeviceRunsInOrder) {
  device_word value{rt(), last(), 1};
  std::uint32_t expected = 1;
  ticket before;
  for (std::uint32_t i = 0; i < 100; ++i) {
    launch const step = program().step.with_shape({1}, {1})(value.buffer(), 3u, i);
    before = i == 0 ? rt().submit(step) : rt().submit(step, {.after = {before}});
    expected = expected * 3 + i;
  }
  EXPECT_EQ(value.read({before}), expected);
}

// requirement
TEST_P(After, ChainAcrossDevicesRunsInOrder) {
  std::vector<device_word> values;
  for (device_ordinal const device : ordinals()) { values.emplace_back(rt(), device, 1); }
  std::uint32_t expected = 1;
  ticket before = rt().submit(program().nothing.with_shape({1}, {1})());
  for (std::uint32_t i = 0; i < 40; ++i) {
    auto& here = values[i % values.size()];
    auto& next = values[(i + 1) % values.size()];
    before =
        rt().submit(program().step.with_shape({1}, {1})(here.buffer(), 3u, i), {.after = {before}});
    expected = expected * 3 + i;
    if (values.size() > 1) {
      before = rt().submit(here.buffer().copy_to(next.buffer()), {.after = {before}});
    }
  }
  EXPECT_EQ(values[40 % values.size()].read({before}), expected);
}

// requirement: a task sees the results of its predecessors on other devices, even if many launches
// wait for predecessors at the same time
TEST_P(After, ManyChainsBetweenDevicesRunInOrder) {
  constexpr std::size_t chains = 12;
  std::uint32_t const links = sanitized ? 50 : 500;
  host_buffer<std::uint32_t> values{rt(), chains};  // every device can access pinned memory
  std::array<std::uint32_t, chains> expected;
  std::array<ticket, chains> latest;
  expected.fill(1);
  std::fill(values.begin(), values.end(), 1u);
  auto const all = ordinals();
  for (std::uint32_t i = 0; i < links; ++i) {
    for (std::size_t chain = 0; chain < chains; ++chain) {
      task_options how{.device = all[(i + chain) % all.size()]};
      if (i != 0) { how.after.add(latest[chain]); }
      if (i != 0 && i % 7 == 0) { how.after.add(latest[(chain + 1) % chains]); }
      latest[chain] =
          rt().submit(program().step.with_shape({1}, {1})(values.data() + chain, 3u, i), how);
      expected[chain] = expected[chain] * 3 + i;
    }
  }
  for (std::size_t chain = 0; chain < chains; ++chain) {
    latest[chain].wait();
    EXPECT_EQ(values[chain], expected[chain]) << chain;
  }
}

// requirement
TEST_P(After, DiamondRunsInOrder) {
  device_word left{rt(), first(), 0}, right{rt(), last(), 0};
  device_word joined{rt(), first(), 0}, other{rt(), first(), 0};
  ticket const top = rt().submit([](task_context&) {}, {.device = last()});
  ticket const a =
      rt().submit(program().write.with_shape({1}, {1})(left.buffer(), 20u), {.after = {top}});
  ticket const b =
      rt().submit(program().write.with_shape({1}, {1})(right.buffer(), 3u), {.after = {top}});
  ticket const carried = rt().submit(right.buffer().copy_to(other.buffer()), {.after = {b}});
  ticket const sum = rt().submit(
      program().copy.with_shape({1}, {1})(joined.buffer(), left.buffer()), {.after = {a, carried}});
  ticket const both = rt().submit([](task_context&) {}, {.after = {sum, carried}});
  EXPECT_EQ(joined.read({both}), 20u);
  EXPECT_EQ(other.read({both}), 3u);
}

// requirement: `after` orders launches, copies and callables among one another. Work that a
// callable enqueues in its stream also runs after the predecessors of the callable
TEST_P(After, LaunchTransferAndCallableFollowOneAnother) {
  device_word value{rt(), last(), 2}, other{rt(), last(), 0};
  std::uint32_t host = 0;
  ticket const computed = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 10u, 1u));
  ticket const moved = rt().submit(
      [&](task_context& context) {
        EXPECT_EQ(driver_in_use().memcpy_dtod_async(other.buffer().address(),
                                                    value.buffer().address(), 4, context.stream()),
                  CUDA_SUCCESS);
      },
      {.device = last(), .after = {computed}});
  ticket const again =
      rt().submit(program().step.with_shape({1}, {1})(other.buffer(), 10u, 3u), {.after = {moved}});
  ticket const fetched =
      rt().submit(other.buffer().copy_to(std::span{&host, 1}), {.after = {again}});
  rt().submit([](task_context&) {}, {.device = first(), .after = {fetched}}).wait();
  EXPECT_EQ(host, 213u);
}

// requirement: no task runs before its predecessor has ended
TEST_P(After, SuccessorWaitsWhileItsPredecessorIsHeld) {
  host_buffer<std::uint32_t> from{rt(), 1}, to{rt(), 1};
  from[0] = 1;
  to[0] = 0;
  bool called = false;
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = first()});
  ticket const copied = rt().submit(program().copy.with_shape({1}, {1})(to.data(), from.data()),
                                    {.device = last(), .after = {held}});
  ticket const call =
      rt().submit([&](task_context&) { called = true; }, {.device = last(), .after = {held}});
  ASSERT_TRUE(pumping(rt(), [&] { return word.started(); }));
  for (int i = 0; i < 20; ++i) { rt().pump(); }
  EXPECT_FALSE(copied.ready());
  EXPECT_FALSE(call.ready());
  from[0] = 42;
  word.release();
  copied.wait();
  call.wait();
  EXPECT_EQ(to[0], 42u) << "the copy ran before its predecessor had ended";
  EXPECT_TRUE(called);
}

// requirement
TEST_P(After, EndedPredecessorDelaysNothing) {
  device_word value{rt(), first(), 5};
  ticket const before = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 0u));
  before.wait();
  ticket const then = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 1u),
                                  {.device = first(), .after = {before}});
  EXPECT_EQ(value.read({then, before}), 21u);
}

// requirement: a task runs after all its predecessors, even if there are too many to store inline,
// if they are on several devices, or if some are named more than once
TEST_P(After, TaskRunsAfterAllOfManyPredecessors) {
  std::atomic<int> ran{0};
  std::vector<ticket> all;
  for (int i = 0; i < 40; ++i) {
    device_ordinal const device{static_cast<unsigned>(i % device_count())};
    all.push_back(rt().submit([&](task_context&) { ++ran; }, {.device = device}));
  }
  dependency_list list{all};
  list.add(all.front());
  list.add(all.front());
  int seen = 0;
  rt().submit([&](task_context&) { seen = ran; }, {.after = list}).wait();
  EXPECT_EQ(seen, 40);
}

// error guess: submit refuses a default-constructed ticket in `after`
TEST_P(After, EmptyTicketIsRefused) {
  ticket const none;
  EXPECT_THROW((void)rt().submit([](task_context&) {}, {.after = {none}}), invalid_argument);
  rt().wait_idle();
}

// requirement: tasks that name no device run after their predecessors, in a graph of 12 layers with
// 8 tasks each
TEST_P(After, LayersOfSharedTasksKeepTheirOrder) {
  constexpr int layers = 12, width = 8;
  std::array<std::atomic<int>, layers> ended{};
  std::vector<ticket> above;
  std::atomic<int> early{0};
  for (std::size_t layer = 0; layer < layers; ++layer) {
    std::vector<ticket> here;
    for (int i = 0; i < width; ++i) {
      here.push_back(rt().submit(
          [&, layer](task_context&) {
            if (layer > 0 && ended[layer - 1] != width) { ++early; }
            ++ended[layer];
          },
          {.after = above}));
    }
    above = std::move(here);
  }
  for (ticket const& each : above) { each.wait(); }
  EXPECT_EQ(early, 0);
  EXPECT_EQ(ended[layers - 1], width);
}

}  // namespace
}  // namespace flotilla::test
