// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows: the choice of devices, several threads, full windows.

#include <array>
#include <thread>
#include <vector>

#include <flotilla/data/default_flow.hpp>

#include "contract/flow_fixture.hpp"

namespace flotilla::test {
namespace {

class FlowDevice : public flow_test {};
FLOTILLA_CONTRACT(FlowDevice);

// requirement: without a device in its options, a task runs where its data are
TEST_P(FlowDevice, TasksRunWhereTheirDataAre) {
  words host = iota(64);
  word_data x{fl(), host, "x"};
  for (device_ordinal const device : ordinals()) {
    fl().post(stir(x, 1), {.device = device});
    ticket const free_choice = fl().submit(stir(x, 2));
    free_choice.wait();
    EXPECT_EQ(free_choice.device(), device);
  }
}

// requirement: tasks that need the same copies anywhere are spread over the devices
TEST_P(FlowDevice, IndependentTasksAreSpread) {
  std::vector<int> on_device(ordinals().size());
  for (int i = 0; i < 12; ++i) {
    word_data x{fl(), {16}, "x"};
    ticket const task = fl().submit(uses(write(x)), [](task_context&, view<std::uint32_t>) {});
    task.wait();
    ++on_device[task.device()->value];
  }
  for (int const count : on_device) { EXPECT_EQ(count, 12 / device_count()); }
}

// requirement: tasks that need the same copies anywhere avoid a device that is busy with the flow
TEST_P(FlowDevice, BusyDevicesGetFewerTasks) {
  if (device_count() < 2) { GTEST_SKIP() << "needs 2 devices"; }
  word_data first{fl(), {16}, "first"};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  auto const work = [](task_context&, view<std::uint32_t>) {};
  ticket const waiting = fl().submit(uses(write(first)), work, {.device = last(), .after = {held}});
  for (int i = 0; i < 12; ++i) {
    word_data x{fl(), {16}, "x"};
    ticket const task = fl().submit(uses(write(x)), work);
    task.wait();
    EXPECT_NE(task.device(), last());
  }
  word.release();
  waiting.wait();
}

// requirement: a launch leaves the device of its data if the open tasks there take longer than a
// copy, but not if it must wait for one of them anyway
TEST_P(FlowDevice, LaunchesAvoidLongQueues) {
  if (device_count() < 2) { GTEST_SKIP() << "needs 2 devices"; }
  words host = iota(64), other_host = iota(64, 9);
  word_data x{fl(), host, "x"}, y{fl(), {16}, "y"}, z{fl(), other_host, "z"};
  x.prefetch_to(last());
  z.prefetch_to(last());
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  for (int i = 0; i < 500; ++i) {  // about 10 us each
    fl().post(uses(write(y)), [](task_context&, view<std::uint32_t>) {},
              {.device = last(), .after = {held}});
  }
  ticket const leaves = fl().submit(stir(x, 1));
  fl().post(uses(update(z)), [](task_context&, view<std::uint32_t>) {},
            {.device = last(), .after = {held}});
  ticket const stays = fl().submit(stir(z, 1));
  word.release();
  leaves.wait();
  stays.wait();
  EXPECT_NE(leaves.device(), last());
  EXPECT_EQ(stays.device(), last());
}

// requirement: the devices that already have a copy pass it on, so that the copies to many devices
// take a time that grows with the logarithm of their number
TEST_P(FlowDevice, CopiesToManyDevicesFormATree) {
  if (device_count() < 4) { GTEST_SKIP() << "needs 4 devices"; }
  flow fl{rt(), {.keeps_graph = true}};
  word_data x{fl, {16}, "x"};
  for (int round = 0; round < 2; ++round) {  // a new version begins a new tree
    fl.post(uses(write(x)), [](task_context&, view<std::uint32_t>) {}, {.device = ordinals()[0]});
    for (unsigned i = 1; i < 4; ++i) { x.prefetch_to(ordinals()[i]); }
  }
  std::string const picture = fl.dot();
  auto const count = [&](std::string const& copy) {
    int found = 0;
    for (std::size_t at = 0; (at = picture.find(copy, at)) != std::string::npos; ++at) { ++found; }
    return found;
  };
  EXPECT_EQ(count("device 0 to device 1"), 2) << picture;
  EXPECT_EQ(count("device 0 to device 2"), 2);
  EXPECT_EQ(count("device 1 to device 3"), 2);
}

// requirement: a runtime that checks the order of tasks accepts what a flow submits. regression for
// predecessors that were left out because they had ended
TEST_P(FlowDevice, OrderCheckAcceptsFlows) {
  runtime_options checked = options();
  checked.checks = checks{.arguments = true, .order = true};
  runtime other{checked};
  flow own{other};
  flotilla::program const loaded = other.load(flow_kernels);
  auto const stir_it = loaded.kernel(flow_kernels.stir_words);
  words host = iota(32), expected = host;
  word_data x{own, host, "x"};
  for (std::uint32_t i = 0; i < 40; ++i) {
    ticket const task = own.submit(stir_it.over(32, 32)(update(x), 32u, i),
                                   {.device = ordinals()[i % ordinals().size()]});
    stir_on_host(expected.data(), 32, i);
    if (i % 3 == 0) {
      EXPECT_TRUE(pumping(other, [&] { return task.ready(); }));
    }
    if (i % 5 == 0) { EXPECT_EQ(x.host()(3), expected[3]); }
    if (i % 7 == 0) { x.host_for_update()(5) = expected[5] = i; }
  }
  EXPECT_EQ(on_host(x), expected);
}

// regression: if data had many readers, those that had ended were left out as predecessors of the
// next writer, which the check of the order then refused
TEST_P(FlowDevice, OrderCheckAcceptsManyReaders) {
  runtime_options checked = options();
  checked.checks = checks{.arguments = true, .order = true};
  runtime other{checked};
  flow own{other};
  flotilla::program const loaded = other.load(flow_kernels);
  auto const mix = loaded.kernel(flow_kernels.mix_words).over(32, 32);
  words host = iota(32), others = iota(32);
  word_data x{own, host, "x"}, y{own, others, "y"};
  task_options const there{.device = last()};
  std::vector<word_data> sums;
  std::uint64_t const copies = 2;
  for (std::uint32_t i = 0; i < 100; ++i) {
    word_data& sum = sums.emplace_back(own, std::array<std::size_t, 1>{32});
    own.post(mix(write(sum), read(x), read(y), 32u, i), there);
    // No call tells the check that the task has ended.
    EXPECT_TRUE(pumping(other, [&] { return other.counters(last()).tasks >= i + 1 + copies; }));
  }
  own.submit(loaded.kernel(flow_kernels.stir_words).over(32, 32)(update(x), 32u, 1u), there).wait();
  EXPECT_EQ(on_host(x)[1], 4u);
}

// regression: for the check of the order, `host` was no wait for the tasks of the flow
TEST_P(FlowDevice, OrderCheckKnowsThatHostHasWaited) {
  runtime_options checked = options();
  checked.checks = checks{.order = true};
  runtime other{checked};
  flow own{other};
  device_buffer<std::uint32_t> buffer{other, last(), 32};
  word_data x{own, buffer, {32}, "x"};
  own.post(uses(update(x)), [](task_context&, view<std::uint32_t>) {}, {.device = last()});
  static_cast<void>(x.host());
  other.submit(buffer.fill(3)).wait();
}

// stress: several threads submit to one flow; each uses data of its own and data of all
TEST_P(FlowDevice, ThreadsShareAFlow) {
  constexpr std::uint32_t rounds = 60;
  words host(32, 0);
  word_data sum{fl(), host, "sum"};
  std::vector<std::jthread> threads;
  for (std::uint32_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      words mine = iota(32, t);
      words expected = mine;
      word_data own{fl(), mine, "own"};
      for (std::uint32_t i = 0; i < rounds; ++i) {
        fl().post(stir(own, i), {.device = ordinals()[(i + t) % ordinals().size()]});
        fl().post(uses(update(sum)), host_task([](view<std::uint32_t> all) {
                    for (std::size_t k = 0; k < all.size(); ++k) { all(k) += 1; }
                  }));
        stir_on_host(expected.data(), 32, i);
      }
      EXPECT_EQ(on_host(own), expected);
    });
  }
  threads.clear();
  EXPECT_EQ(on_host(sum), words(32, 3 * rounds));
}

// requirement: a callable and a host task can submit to their flow
TEST_P(FlowDevice, TasksSubmitTasks) {
  words host = iota(32);
  word_data x{fl(), host, "x"};
  token chain{fl(), "chain"};
  fl().post(uses(update(chain)), [&](task_context&) { fl().post(stir(x, 1)); });
  fl().post(uses(update(chain)), host_task([&] { fl().post(stir(x, 2)); }));
  rt().wait_idle();
  words expected = iota(32);
  stir_on_host(expected.data(), 32, 1);
  stir_on_host(expected.data(), 32, 2);
  EXPECT_EQ(on_host(x), expected);
}

// requirement: a flow with more open tasks than the window waits for room, and loses nothing
TEST_P(FlowDevice, FullWindowsDelaySubmits) {
  runtime_options small = options();
  small.window = 64;
  runtime other{small};
  flow own{other};
  flotilla::program const loaded = other.load(flow_kernels);
  auto const stir_it = loaded.kernel(flow_kernels.stir_words);
  words host = iota(32), expected = host;
  word_data x{own, host, "x"};
  for (std::uint32_t i = 0; i < 300; ++i) {
    own.post(stir_it.over(32, 32)(update(x), 32u, i),
             {.device = ordinals()[i % ordinals().size()]});
    stir_on_host(expected.data(), 32, i);
  }
  EXPECT_EQ(on_host(x), expected);
}

// regression: in single-threaded mode, a window full of host tasks made a submit hang
TEST_P(FlowDevice, WindowsFullOfHostTasksDelaySubmits) {
  runtime_options small = options();
  small.window = 64;
  runtime other{small};
  flow own{other};
  words host(1, 0);
  word_data x{own, host, "x"};
  for (int i = 0; i < 400; ++i) {
    own.post(uses(update(x)), host_task([](view<std::uint32_t> all) { ++all(0); }));
    if (i % 4 == 0) {
      own.post(uses(read(x)), [](task_context&, view<std::uint32_t const>) {}, {.device = last()});
    }
  }
  EXPECT_EQ(x.host()(0), 400u);
}

// requirement: all users of a runtime get the same default flow, from any thread
TEST_P(FlowDevice, TheDefaultFlowIsShared) {
  std::array<flow*, 4> seen{};
  {
    std::vector<std::jthread> threads;
    for (flow*& each : seen) {
      threads.emplace_back([&] { each = &default_flow(rt()); });
    }
  }
  for (flow* const each : seen) { EXPECT_EQ(each, seen[0]); }
  flow& shared = default_flow(rt());
  words host = iota(64);
  word_data x{shared, host, "x"};
  shared.post(stir(x, 5), {.device = last()});
  words expected = host;
  stir_on_host(expected.data(), expected.size(), 5);
  EXPECT_EQ(on_host(x), expected);
  runtime other{options()};
  EXPECT_NE(&default_flow(other), &shared);
  other.close();
  EXPECT_THROW(static_cast<void>(default_flow(other)), runtime_closed);
}

}  // namespace
}  // namespace flotilla::test
