// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// `bulk`: many tasks with one ticket.

#include <algorithm>
#include <array>
#include <atomic>
#include <list>
#include <numeric>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <flotilla/task/bulk.hpp>

#include "support/launch_gate.hpp"

namespace flotilla::test {
namespace {

using word = std::uint32_t;

class Bulk : public contract_test {
 protected:
  void start_with_window(std::size_t window) {
    auto changed = options();
    changed.window = window;
    start(changed);
    (void)program();
  }
  /// A kernel that counts in counters[id].
  kernel<word*, word> count() { return program().loaded.kernel<word*, word>("count_id"); }
  std::vector<word> read(device_buffer<word> const& from) {
    std::vector<word> values(from.size());
    rt().submit(from.copy_to(std::span{values})).wait();
    return values;
  }
  device_buffer<word> zeros(std::size_t size, device_ordinal device) {
    return {rt(), device, std::span<word const>{std::vector<word>(size)}};
  }
  static std::vector<word> ones(std::size_t size) { return std::vector<word>(size, 1); }
};
FLOTILLA_CONTRACT(Bulk);

// requirement: each item runs once, with its own arguments, on the device of its buffer
TEST_P(Bulk, EachItemRunsOnceWithItsArguments) {
  constexpr word n = 700;
  device_buffer<word> here = zeros(n, first()), there = zeros(n, last());
  std::list<std::tuple<device_span<word>, word>> arguments;
  for (word i = 0; i < n; ++i) {
    arguments.emplace_back(i % 2 == 0 ? here.span() : there.span(), i);
    arguments.emplace_back(i % 2 == 0 ? there.span() : here.span(), i);
  }
  ticket const all = rt().submit(bulk(count().with_shape({1}, {1}), arguments));
  all.wait();
  EXPECT_TRUE(all.ready());
  EXPECT_EQ(read(here), ones(n));
  EXPECT_EQ(read(there), ones(n));
}

// requirement: a function of the index makes the arguments. It is called once for each index, in
// order, by the calling thread
TEST_P(Bulk, FunctionMakesTheArguments) {
  device_buffer<word> counters = zeros(300, last());
  std::vector<std::size_t> indices;
  std::thread::id const caller = std::this_thread::get_id();
  rt().submit(bulk(count().over(1, 1), 300,
                   [&](std::size_t i) {
                     EXPECT_EQ(std::this_thread::get_id(), caller);
                     indices.push_back(i);
                     return std::pair{counters.span(), static_cast<word>(i)};
                   }))
      .wait();
  std::vector<std::size_t> expected(300);
  std::iota(expected.begin(), expected.end(), std::size_t{0});
  EXPECT_EQ(indices, expected);
  EXPECT_EQ(read(counters), ones(300));
}

// requirement: all items run after the tasks in `after`, and tasks after the ticket run after all
// items, on every device
TEST_P(Bulk, OrderWithPredecessorsAndSuccessors) {
  for (device_ordinal const device : ordinals()) {
    device_word value{rt(), device};
    launch_gate gate{rt(), program(), last()};
    ticket const ahead = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 1u, 1u),
                                     {.after = {gate.gate()}});
    ticket const doubled = rt().submit(bulk(program().step.with_shape({1}, {1}), 1,
                                            [&](std::size_t) {
                                              return std::tuple{value.buffer().span(), 10u, 0u};
                                            }),
                                       {.after = {ahead}});
    ticket const added = rt().submit(bulk(program().add.with_shape({1}, {1}), 200,
                                          [&](std::size_t) {
                                            return std::tuple{value.buffer().span(), 1u};
                                          }),
                                     {.after = {doubled}});
    ticket const behind = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 3u),
                                      {.after = {added}});
    EXPECT_FALSE(added.ready());
    gate.open();
    behind.wait();
    EXPECT_EQ(value.read(), (1 * 10 + 200) * 2 + 3);
  }
}

// requirement: a bulk may have more items than the window has places
TEST_P(Bulk, MoreItemsThanTheWindow) {
  start_with_window(64);
  for (device_ordinal const device : ordinals()) {
    device_buffer<word> counters = zeros(1000, device);
    rt().submit(bulk(count().over(1, 1), 1000,
                     [&](std::size_t i) {
                       return std::tuple{counters.span(), static_cast<word>(i)};
                     }))
        .wait();
    EXPECT_EQ(read(counters), ones(1000));
  }
}

// requirement
TEST_P(Bulk, BulkWithoutItemsIsReady) {
  held_word word_{rt()};
  ticket const held = rt().submit(word_.launch_of(program()), {.device = last()});
  std::vector<std::tuple<device_span<word>, word>> const none;
  ticket const empty = rt().submit(bulk(count().over(1), none), {.after = {held}});
  EXPECT_TRUE(empty.valid());
  EXPECT_TRUE(empty.ready());
  empty.wait();
  EXPECT_FALSE(empty.cancel());
  rt().post([](task_context&) {}, {.device = first(), .after = {empty}});
  word_.release();
  rt().wait_idle();
}

// requirement: copies, fills and launches of several kernels, as a range or from a function
TEST_P(Bulk, CopiesFillsAndLaunches) {
  constexpr std::size_t n = 100;
  device_buffer<word> values = zeros(n, last());
  std::vector<memory_op> fills;
  for (std::size_t i = 0; i < n; ++i) {
    fills.push_back(values.subspan(i, 1).fill(static_cast<word>(i)));
  }
  ticket const filled = rt().submit(bulk(fills));
  std::vector<launch> launches;
  for (std::size_t i = 0; i < n; ++i) {
    launches.push_back(i % 2 == 0 ? program().add.over(1, 1)(values.subspan(i, 1), 1u)
                                  : program().write.over(1, 1)(values.subspan(i, 1), 7u));
  }
  ticket const changed = rt().submit(bulk(launches), {.after = {filled}});
  std::vector<word> seen(n), expected(n);
  for (word i = 0; i < n; ++i) { expected[i] = i % 2 == 0 ? i + 1 : 7; }
  rt().submit(bulk(n,
                   [&](std::size_t i) {
                     return values.subspan(i, 1).copy_to(std::span{&seen[i], 1});
                   }),
              {.after = {changed}})
      .wait();
  EXPECT_EQ(seen, expected);
}

// requirement: the options apply to each item, and the ticket knows a device that they name
TEST_P(Bulk, OptionsApplyToEachItem) {
  auto const nothing = [](std::size_t) { return std::tuple{}; };
  std::uint64_t const before = rt().counters(last()).tasks;
  ticket const named = rt().submit(bulk(program().nothing.over(1, 1), 50, nothing),
                                   {.device = last(), .batch = false, .priority = -1});
  named.wait();
  EXPECT_EQ(named.device(), last());
  EXPECT_EQ(rt().counters(last()).tasks, before + 50);
  rt().submit(bulk(program().nothing.over(1, 1), 50, nothing)).wait();  // any device
  std::uint64_t sum = 0;
  for (device_ordinal const device : ordinals()) { sum += rt().counters(device).tasks; }
  EXPECT_GE(sum, before + 100);
}

// requirement: the ticket may be dropped at once; the runtime's end waits for the items
TEST_P(Bulk, TicketMayBeDropped) {
  host_buffer<word> counters{rt(), 200};
  std::ranges::fill(counters.span(), 0u);
  {
    launch_gate gate{rt(), program(), last()};
    (void)rt().submit(bulk(count().over(1, 1), 200,
                           [&](std::size_t i) {
                             return std::tuple{counters.data(), static_cast<word>(i)};
                           }),
                      {.after = {gate.gate()}});
    gate.open();
  }
  rt().wait_idle();
  EXPECT_TRUE(std::ranges::all_of(counters.span(), [](word each) { return each == 1; }));
}

// requirement: the ticket becomes ready although no thread waits for it, and continuations run
TEST_P(Bulk, EndsWithoutAWait) {
  std::atomic<int> ran{0};
  for (int round = 0; round < 5; ++round) {
    auto const nothing = [](std::size_t) { return std::tuple{}; };
    ticket const polled = rt().submit(bulk(program().nothing.over(1, 1), 100, nothing));
    // Without a free thread of oneTBB, a plain task would not run either.
    bool const has_workers = worker_count() != 0 && GetParam().threads == tbb_threads::all;
    EXPECT_TRUE(has_workers ? eventually([&] { return polled.ready(); })
                            : pumping(rt(), [&] { return polled.ready(); }));
    ticket const continued = rt().submit(bulk(program().nothing.over(1, 1), 100, nothing));
    continued.then([&](std::exception_ptr why) { ran += why ? 100 : 1; });
    EXPECT_TRUE(pumping(rt(), [&] { return ran == round + 1; }));
    ticket const waited = rt().submit(bulk(program().nothing.over(1, 1), 100, nothing));
    EXPECT_LT(wait_any(waited, polled), 2u);
    EXPECT_TRUE(ended(waited));
  }
}

// requirement: a wait for a bulk runs the callables of other threads on which its items depend
TEST_P(Bulk, WaitHelpsWithPredecessors) {
  for (int round = 0; round < 10; ++round) {
    device_word sum{rt(), last()};
    ticket called;
    std::thread{[&] { called = rt().submit([](task_context&) {}, {.device = first()}); }}.join();
    ticket const all = rt().submit(bulk(program().add.over(1, 1), 20,
                                        [&](std::size_t) {
                                          return std::tuple{sum.buffer().span(), 1u};
                                        }),
                                   {.after = {called}});
    ASSERT_TRUE(ended(all));
    EXPECT_EQ(sum.read(), 20u);
  }
}

// requirement: several threads may submit bulks at the same time, even if their items do not fit
// into the window
TEST_P(Bulk, BulksOfSeveralThreads) {
  start_with_window(64);
  constexpr std::size_t threads = 4, bulks = 8, n = 90;
  std::array<device_buffer<word>, threads> counters{zeros(n, first()), zeros(n, last()),
                                                    zeros(n, first()), zeros(n, last())};
  {
    std::vector<std::jthread> all;
    for (std::size_t t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        std::vector<ticket> open;
        for (std::size_t b = 0; b < bulks; ++b) {
          open.push_back(rt().submit(bulk(count().over(1, 1), n, [&](std::size_t i) {
            return std::tuple{counters[t].span(), static_cast<word>(i)};
          })));
        }
        for (ticket const& each : open) { each.wait(); }
      });
    }
  }
  for (auto const& each : counters) { EXPECT_EQ(read(each), std::vector<word>(n, bulks)); }
}

// requirement: a callable may submit a bulk. It cannot wait for items on its own device, and a full
// window is refused before any item is submitted
TEST_P(Bulk, InsideACallable) {
  start_with_window(64);
  device_word sum{rt(), last()};
  auto const add = [&](std::size_t) { return std::tuple{sum.buffer().span(), 1u}; };
  ticket inner;
  rt().submit(
          [&](task_context&) {
            inner = rt().submit(bulk(program().add.over(1, 1), 20, add));
            EXPECT_THROW(inner.wait(), would_deadlock);
            std::size_t made = 0;
            EXPECT_THROW((void)rt().submit(bulk(program().nothing.over(1, 1), 500,
                                                [&](std::size_t) {
                                                  ++made;
                                                  return std::tuple{};
                                                }),
                                           {.device = last()}),
                         window_full);
            EXPECT_LE(made, 64u);
          },
          {.device = last()})
      .wait();
  inner.wait();
  EXPECT_EQ(sum.read(), 20u);
  rt().wait_idle();
}

}  // namespace
}  // namespace flotilla::test
