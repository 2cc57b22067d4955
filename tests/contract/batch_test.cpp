// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Batches: each launch runs once and after its predecessors.

#include <algorithm>
#include <chrono>
#include <deque>

#include "contract/batch_fixture.hpp"
#include "support/eventually.hpp"
#include "support/hold.hpp"

namespace flotilla::test {
namespace {

class Batches : public batch_test {};

// requirement
TEST_F(Batches, FloodIsFoldedIntoFewLaunches) {
  runtime rt{options()};
  test_program const program{rt};
  launch const nothing = program.nothing.with_shape({1}, {1})();
  for (int i = 0; i < 2000; ++i) { static_cast<void>(rt.submit(nothing)); }
  rt.wait_idle();
  device_counters const counted = rt.counters(device_ordinal{0});
  EXPECT_EQ(counted.tasks, 2000u);
  EXPECT_LT(counted.batches, 1000u) << "on average a batch must hold more than two tasks";
}

// requirement: the tasks of a chain are batched, even if they were parked
TEST_F(Batches, ParkedChainsAreBatched) {
  runtime rt{options()};
  test_program const program{rt};
  constexpr std::uint32_t links = 1000;
  for (int i = 0; i < 20; ++i) {  // lets the runtime measure the kernel's duration
    for (int k = 0; k < 100; ++k) {
      static_cast<void>(rt.submit(program.nothing.with_shape({1}, {1})()));
    }
    rt.wait_idle();
  }
  device_buffer<std::uint32_t> value{rt, device_ordinal{0}, 1};
  for (int i = 0; i < 20; ++i) {
    rt.submit(program.step.with_shape({1}, {1})(value, 1u, 0u)).wait();
  }
  rt.submit(value.fill(1)).wait();
  std::uint64_t const before = rt.counters(device_ordinal{0}).batches;
  // The chain begins with a callable. A pass runs callables after launches, so each link of the
  // chain is parked until the previous link is launched.
  ticket previous = rt.submit([](task_context&) {}, {.device = device_ordinal{0}});
  std::uint32_t expected = 1;
  for (std::uint32_t i = 0; i < links; ++i) {
    task_options how{.device = device_ordinal{0}};
    how.after.add(previous);
    previous = rt.submit(program.step.with_shape({1}, {1})(value, 3u, i), how);
    expected = expected * 3 + i;
  }
  previous.wait();
  // Without batching there would be one batch per link. The number of links in a batch depends on
  // the measured duration of the kernel, which grows with the load of the machine. So the bound
  // leaves a margin.
  EXPECT_LT(rt.counters(device_ordinal{0}).batches - before, links * 3 / 4);
  EXPECT_EQ(read(rt, value)[0], expected);
}

// requirement: a template that is only partly filled runs each task only once
TEST_F(Batches, BatchesOfEverySizeRunEachTaskOnce) {
  runtime rt{options()};
  program const loaded = rt.load(test_image());
  auto const count = loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  device_buffer<std::uint32_t> counters{rt, device_ordinal{0}, tasks};
  grow_batches(rt, count, counters);
  for (unsigned size = 1; size <= 64; ++size) {
    rt.submit(counters.fill(0)).wait();
    for (unsigned i = 0; i < size; ++i) {
      static_cast<void>(rt.submit(count.with_shape({1}, {1})(counters, i)));
    }
    rt.wait_idle();
    std::vector<std::uint32_t> expected(tasks, 0);
    std::fill_n(expected.begin(), size, 1u);
    ASSERT_EQ(read(rt, counters), expected) << size;
  }
}

// requirement: a task sees the results of its predecessors in the same batch and on other lanes
TEST_F(Batches, OrderHoldsAcrossLanesAndBatches) {
  runtime rt{options()};
  test_program const program{rt};
  constexpr unsigned chains = 16;
  constexpr unsigned links = 40;
  device_buffer<std::uint32_t> values{rt, device_ordinal{0}, chains};
  rt.submit(values.fill(1)).wait();
  std::vector<std::vector<ticket>> all(chains);
  for (unsigned link = 0; link < links; ++link) {
    for (unsigned c = 0; c < chains; ++c) {
      task_options how;
      if (!all[c].empty()) { how.after.add(all[c].back()); }
      // Every fifth link has a second predecessor, which is a link of the next chain.
      if (link % 5 == 4) { how.after.add(all[(c + 1) % chains].back()); }
      auto const value = values.subspan(c, 1);
      all[c].push_back(rt.submit(program.step.with_shape({1}, {1})(value, 3u, link), how));
    }
  }
  rt.wait_idle();
  std::uint32_t expected = 1;
  for (unsigned link = 0; link < links; ++link) { expected = expected * 3 + link; }
  EXPECT_EQ(read(rt, values), std::vector<std::uint32_t>(chains, expected));
}

// requirement: on a device with free capacity, a long kernel and its successor are in different
// batches. If they were in one batch, the ticket of the long kernel would not become ready before
// the successor had ended
TEST_F(Batches, SuccessorDoesNotDelayTheEndOfALongKernel) {
  runtime rt{options()};
  test_program const program{rt};
  // The words live until the end of the test, because freeing pinned memory would wait for the held
  // kernels.
  std::deque<held_word> words;
  // The kernel runs for 5 ms three times, so the runtime knows that the kernel is long.
  for (int i = 0; i < 3; ++i) {
    held_word& held = words.emplace_back(rt);
    ticket const done = rt.submit(held.launch_of(program));
    EXPECT_TRUE(pumping(rt, [&] { return held.started(); }));
    auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds{5};
    EXPECT_TRUE(pumping(rt, [&] { return std::chrono::steady_clock::now() >= end; }));
    held.release();
    done.wait();
  }
  held_word first{rt};
  held_word second{rt};
  first.release();
  ticket const head = rt.submit(first.launch_of(program));
  ticket const successor = rt.submit(second.launch_of(program), {.after = {head}});
  EXPECT_TRUE(head.wait_for(test_timeout));
  EXPECT_FALSE(successor.ready());
  second.release();
  successor.wait();
}

}  // namespace
}  // namespace flotilla::test
