// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Chunks of bulks: order, windows, options and devices.

#include <array>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

#include <flotilla/testing/fault_injection.hpp>

#include "contract/chunk_fixture.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

class BulkChunkOptions : public chunk_test {
 protected:
  void start_with(std::size_t window, bool fuse = true) {
    auto changed = options();
    changed.window = window;
    changed.fuse_launches = fuse;
    start(changed);
    (void)program();
  }
};
FLOTILLA_CONTRACT(BulkChunkOptions);

// requirement: a buffer may be destroyed as soon as an item with it was passed to the bulk. Its
// memory is not used again before the item has ended
TEST_P(BulkChunkOptions, BuffersOfItemsMayBeDestroyedAtOnce) {
  measure_add();
  auto const add = program().add.with_shape({1}, {1});
  std::vector<device_buffer<word>> others;  // they must not get the memory of an open item
  ticket const all = rt().submit(bulk(add, n, [&](std::size_t i) {
    if (i % 50 == 49) { others.push_back(zeros(8, last())); }
    device_buffer<word> only_here = zeros(8, last());
    return std::tuple{std::move(only_here), 1u};
  }));
  all.wait();
  for (auto const& each : others) { EXPECT_EQ(read(each), std::vector<word>(8, 0)); }
}

// requirement: chunks begin after the tasks in `after`, and tasks after the ticket run after all
// chunks, on every device
TEST_P(BulkChunkOptions, OrderWithPredecessorsAndSuccessors) {
  measure_add();
  for (device_ordinal const device : ordinals()) {
    device_word value{rt(), device};
    launch_gate gate{rt(), program(), last()};
    ticket const ahead = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 1u, 5u),
                                     {.after = {gate.gate()}});
    ticket const added = rt().submit(bulk(program().add.with_shape({1}, {1}), 3000,
                                          [&](std::size_t) {
                                            return std::tuple{value.buffer().span(), 1u};
                                          }),
                                     {.after = {ahead}});
    // Without buffers, any device may take the chunks.
    ticket const nothing = rt().submit(
        bulk(program().nothing.over(1, 1), 500, [](std::size_t) { return std::tuple{}; }),
        {.after = {added}});
    ticket const behind = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 3u),
                                      {.after = {nothing}});
    EXPECT_FALSE(added.ready());
    gate.open();
    behind.wait();
    EXPECT_EQ(value.read(), (5 + 3000) * 2 + 3);
  }
}

// requirement: a bulk whose predecessors cannot end before the call returns does not need more
// memory than there is, as long as its items fit into the window
TEST_P(BulkChunkOptions, ManyItemsBehindAClosedGate) {
  start_with(65000);
  measure_count();
  counting const kernel = count();
  constexpr std::size_t many = 50'000;  // more than all chunks of a device
  device_buffer<word> counters = zeros(many, last());
  launch_gate gate{rt(), program(), last()};
  ticket const all = rt().submit(bulk(kernel.over(1, 1), many,
                                      [&](std::size_t i) {
                                        return std::tuple{counters.span(), static_cast<word>(i)};
                                      }),
                                 {.after = {gate.gate()}});
  EXPECT_FALSE(all.ready());
  gate.open();
  all.wait();
  EXPECT_EQ(read(counters), ones(many));
}

// requirement: bulks of several threads share windows and memory
TEST_P(BulkChunkOptions, BulksOfSeveralThreads) {
  start_with(64);
  measure_count();
  counting const kernel = count();
  constexpr std::size_t threads = 4, bulks = 4, size = sanitized ? 4000 : 20'000;
  std::array<device_buffer<word>, threads> counters{zeros(size, first()), zeros(size, last()),
                                                    zeros(size, first()), zeros(size, last())};
  {
    std::vector<std::jthread> all;
    for (std::size_t t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        std::vector<ticket> open;
        for (std::size_t b = 0; b < bulks; ++b) {
          open.push_back(rt().submit(bulk(kernel.over(1, 1), size, [&](std::size_t i) {
            return std::tuple{counters[t].span(), static_cast<word>(i)};
          })));
        }
        for (ticket const& each : open) { each.wait(); }
      });
    }
  }
  for (auto const& each : counters) { EXPECT_EQ(read(each), std::vector<word>(size, bulks)); }
}

// requirement: a callable may submit a bulk with chunks
TEST_P(BulkChunkOptions, InsideACallable) {
  measure_add();
  device_word sum{rt(), last()};
  ticket inner;
  rt().submit(
          [&](task_context&) {
            inner = rt().submit(bulk(program().add.over(1, 1), 2000, [&](std::size_t) {
              return std::tuple{sum.buffer().span(), 1u};
            }));
            EXPECT_THROW(inner.wait(), would_deadlock);
          },
          {.device = last()})
      .wait();
  inner.wait();
  EXPECT_EQ(sum.read(), 2000u);
}

// requirement: without grids, and for items that must not share a batch, the results are the same
TEST_P(BulkChunkOptions, WithoutGrids) {
  for (bool const fuse : {false, true}) {
    stop();
    start_with(16384, fuse);
    measure_count();
    counting const kernel = count();
    device_buffer<word> counters = zeros(n, last());
    std::uint64_t const before = sum_of(&device_counters::batches);
    rt().submit(bulk(kernel.over(1, 1), n,
                     [&](std::size_t i) {
                       return std::tuple{counters.span(), static_cast<word>(i)};
                     }),
                {.batch = !fuse})
        .wait();
    EXPECT_GE(sum_of(&device_counters::batches) - before, fuse ? n : 3);
    EXPECT_EQ(read(counters), ones(n));
  }
}

// requirement: all options apply to the items of chunks
TEST_P(BulkChunkOptions, OptionsApply) {
  measure_add();
  host_buffer<word> sum{rt(), 1};
  sum[0] = 0;
  std::uint64_t const before = rt().counters(last()).tasks;
  ticket const named = rt().submit(bulk(program().add.over(1, 1), n,
                                        [&](std::size_t) {
                                          return std::tuple{sum.data(), 1u};
                                        }),
                                   {.device = last(), .label = "urgent", .priority = -5});
  named.wait();
  EXPECT_EQ(named.device(), last());
  EXPECT_EQ(rt().counters(last()).tasks, before + n);
  EXPECT_EQ(sum[0], n);
}

// requirement: a placement of the application chooses the device of each item
TEST_P(BulkChunkOptions, PlacementChoosesForEachItem) {
  auto changed = options();
  changed.placement = std::make_shared<round_robin>();
  start(changed);
  measure_nothing();
  std::vector<std::uint64_t> before;
  for (device_ordinal const each : ordinals()) { before.push_back(rt().counters(each).tasks); }
  std::size_t const size = n / ordinals().size() * ordinals().size();
  rt().submit(bulk(program().nothing.over(1, 1), size, [](std::size_t) { return std::tuple{}; }))
      .wait();
  for (device_ordinal const each : ordinals()) {
    EXPECT_EQ(rt().counters(each).tasks - before[each.value], size / ordinals().size());
  }
}

// requirement: the devices take the chunks one by one, so a slow device takes fewer
TEST_P(BulkChunkOptions, ASlowDeviceTakesFewerItems) {
  if (device_count() != 2) { GTEST_SKIP() << "this test needs two devices"; }
  FLOTILLA_NEED_CPU_DRIVER();
  measure_add();
  host_buffer<word> sum{rt(), 1};
  sum[0] = 0;
  std::uint64_t const before = rt().counters(last()).tasks;
  std::uint64_t const pulled = sum_of(&device_counters::pulled);
  testing::slow_kernels(rt().devices()[last().value], 1000);
  constexpr std::size_t many = sanitized ? 30'000 : 100'000;
  rt().submit(bulk(program().add.over(1, 1), many,
                   [&](std::size_t) {
                     return std::tuple{sum.data(), 1u};
                   }))
      .wait();
  testing::clear_faults();
  EXPECT_EQ(sum[0], many);
  EXPECT_LT(rt().counters(last()).tasks - before, many / 4);
  EXPECT_EQ(sum_of(&device_counters::pulled) - pulled, many);
}

}  // namespace
}  // namespace flotilla::test
