// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Chunks that fail, are refused or are cancelled.

#include <atomic>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <flotilla/testing/fault_injection.hpp>

#include "contract/chunk_fixture.hpp"
#include "contract/continuation.hpp"

namespace flotilla::test {
namespace {

class BulkChunkError : public chunk_test {
 protected:
  auto add_to(device_word& sum) {
    return [&sum](std::size_t) { return std::tuple{sum.buffer().span(), 1u}; };
  }
  ticket adding(device_word& sum, std::size_t items, task_options const& how = {}) {
    return rt().submit(bulk(program().add.over(1, 1), items, add_to(sum)), how);
  }
  /// Calls `action`, which throws a bulk_error with a cause of this type.
  template <class Cause, class Action>
  void expect_error(Action const& action, std::size_t index, std::size_t items,
                    std::string const& part) {
    try {
      action();
      ADD_FAILURE() << "nothing was thrown";
    } catch (bulk_error const& why) {
      EXPECT_EQ(why.index(), index);
      EXPECT_EQ(why.count(), items);
      EXPECT_THAT(thrown<Cause>([&] { std::rethrow_exception(why.cause()); }), HasSubstr(part));
    }
  }
};
FLOTILLA_CONTRACT(BulkChunkError);

// requirement: `cancel` and a stop token cancel the chunks that are not launched
TEST_P(BulkChunkError, CancelAndStop) {
  measure_add();
  for (bool const by_token : {false, true}) {
    device_word sum{rt(), last()};
    std::stop_source source;
    launch_gate gate{rt(), program(), last()};
    std::uint64_t const failed = rt().counters(last()).failed;
    ticket const all = adding(sum, 3000, {.after = {gate.gate()}, .stop = source.get_token()});
    ticket const other = adding(sum, n, {.after = {gate.gate()}});
    for (int i = 0; i < 3; ++i) { rt().pump(); }
    if (by_token) {
      source.request_stop();
    } else {
      EXPECT_TRUE(all.cancel());
    }
    EXPECT_TRUE(all.cancel());
    gate.open();
    expect_error<task_cancelled>([&] { all.wait(); }, 0, 3000,
                                 "was cancelled before it was launched");
    EXPECT_TRUE(all.cancel()) << "the bulk has ended because it was cancelled";
    other.wait();
    EXPECT_FALSE(other.cancel());
    EXPECT_EQ(sum.read(), n);
    EXPECT_EQ(rt().counters(last()).failed - failed, 3000u);
  }
}

// requirement: cancelling during the launches: every chunk runs once or is cancelled, and the bulk
// ends
TEST_P(BulkChunkError, CancelDuringLaunches) {
  measure_add();
  for (int round = 0; round < 20; ++round) {
    device_word sum{rt(), last()};
    ticket const all = adding(sum, 4000);
    std::atomic<bool> cancelled{false};
    std::jthread canceller{[&] { cancelled = all.cancel(); }};
    bool failed = false;
    try {
      all.wait();
    } catch (bulk_error const& why) {
      failed = true;
      EXPECT_THROW(std::rethrow_exception(why.cause()), task_cancelled);
    }
    canceller.join();
    EXPECT_EQ(failed, cancelled);
    word const ran = sum.read();
    EXPECT_EQ(ran == 4000, !failed) << ran;
  }
}

// requirement: if a predecessor fails, all items fail
TEST_P(BulkChunkError, FailedPredecessor) {
  measure_add();
  device_word sum{rt(), first()};
  ticket const failed =
      rt().submit([](task_context&) { throw std::runtime_error{"cause 5"}; }, {.device = last()});
  ticket const all = adding(sum, n, {.label = "sums", .after = {failed}});
  expect_error<dependency_failed>([&] { all.wait(); }, 0, n, "cause 5");
  expect_error<dependency_failed>([&] { all.wait(); }, 0, n, "sums");
  EXPECT_EQ(sum.read(), 0u);
}

// requirement: if the driver refuses a grid, each item is launched alone, and only the items that
// the driver refuses then fail
TEST_P(BulkChunkError, RefusedGrid) {
  FLOTILLA_NEED_CPU_DRIVER();
  measure_add();
  for (unsigned refused_items : {0u, 1u, 2u}) {
    device_word sum{rt(), last()};
    rt().wait_idle();
    std::uint64_t const before = rt().counters(last()).failed;
    testing::fail_call("cuLaunchKernel", 1, driver_status::launch_out_of_resources);
    for (unsigned i = 0; i < refused_items; ++i) {
      testing::fail_call("cuLaunchKernel", 12 + 30 * i, driver_status::launch_out_of_resources);
    }
    ticket const all = adding(sum, n, {.label = "sums"});
    if (refused_items == 0) {
      EXPECT_NO_THROW(all.wait());
    } else {
      // Call 1 was the grid, so call 12 is item 10. If the kernel was measured as too long for a
      // chunk, the items are single tasks, and the calls are others.
      try {
        all.wait();
      } catch (bulk_error const& why) {
        EXPECT_THAT(why.what(), AllOf(HasSubstr("add_to"), HasSubstr("sums")));
      }
    }
    testing::clear_faults();
    rt().wait_idle();
    EXPECT_LE(rt().counters(last()).failed - before, refused_items);
    EXPECT_EQ(sum.read(), n - (rt().counters(last()).failed - before));
  }
}

// requirement: if the driver refuses every item, the ticket names the first, with the limits
TEST_P(BulkChunkError, EveryItemIsRefused) {
  measure_nothing();
  std::uint64_t const before = rt().counters(last()).failed;
  ticket const all = rt().submit(bulk(program().nothing.with_shape({1}, {1}, 64u << 20), n,
                                      [](std::size_t) { return std::tuple{}; }),
                                 {.device = last(), .label = "large"});
  expect_error<driver_error>([&] { all.wait(); }, 0, n, "kernel 'nothing', label 'large', device");
  expect_error<driver_error>([&] { all.wait(); }, 0, n, "67108864 bytes of dynamic shared memory");
  rt().wait_idle();
  EXPECT_EQ(rt().counters(last()).failed - before, n);
}

// requirement: if the driver refuses the write that reports the end of a chunk, the end is found
TEST_P(BulkChunkError, RefusedWriteDelaysTheEnd) {
  FLOTILLA_NEED_CPU_DRIVER();
  measure_add();
  device_word sum{rt(), last()};
  rt().wait_idle();
  testing::fail_call("cuStreamWriteValue64", 1, driver_status::launch_out_of_resources);
  EXPECT_NO_THROW(adding(sum, n).wait());
  testing::clear_faults();
  EXPECT_EQ(sum.read(), n);
}

// requirement: without memory for records, the items are single tasks
TEST_P(BulkChunkError, WithoutMemoryForRecords) {
  FLOTILLA_NEED_CPU_DRIVER();
  measure_add();
  device_word sum{rt(), last()};
  rt().wait_idle();
  testing::fail_call("cuMemHostRegister", 1, driver_status::out_of_memory);
  EXPECT_NO_THROW(adding(sum, 3000).wait());
  EXPECT_NO_THROW(adding(sum, 3000).wait());
  testing::clear_faults();
  EXPECT_EQ(sum.read(), 6000u);
}

// requirement: each item of a kernel with a task_status has a status of its own
TEST_P(BulkChunkError, ItemsWithStatus) {
  auto const check =
      program().loaded.kernel<word const*, word, task_status, word*>("fail_above").over(1, 1);
  device_word runs{rt(), last()};
  std::vector<word> limits(n);
  limits[117] = limits[118] = limits[240] = 9;
  device_buffer<word> const values{rt(), last(), std::span<word const>{limits}};
  ticket const all = rt().submit(bulk(check, n, [&](std::size_t i) {
    return std::tuple{values.subspan(i, 1), 5u, task_status{}, runs.buffer().span()};
  }));
  expect_error<task_failed>([&] { all.wait(); }, 117, n, "fail_above");
  EXPECT_EQ(runs.read(), n);
}

// requirement: if the function throws, or an item is wrong, the items before it run and the others
// are not submitted
TEST_P(BulkChunkError, ItemsBeforeAnErrorRun) {
  measure_add();
  device_word sum{rt(), last()};
  struct my_failure {};
  auto const arguments = add_to(sum);
  EXPECT_THROW((void)rt().submit(bulk(program().add.over(1, 1), n,
                                      [&](std::size_t i) {
                                        if (i == 205) { throw my_failure{}; }
                                        return arguments(i);
                                      })),
               my_failure);
  rt().wait_idle();
  EXPECT_EQ(sum.read(), 205u);
  runtime other{{.devices = device_spec(1), .workers = 1}};
  device_word foreign{other, first()};
  auto const mixed = [&](std::size_t i) {
    return std::tuple{i == 103 ? foreign.buffer().span() : sum.buffer().span(), 1u};
  };
  expect_error<wrong_runtime>([&] { (void)rt().submit(bulk(program().add.over(1, 1), n, mixed)); },
                              103, n, "runtime");
  rt().wait_idle();
  EXPECT_EQ(sum.read(), 308u);
  std::vector<launch> launches(n, program().add.over(1, 1)(sum.buffer(), 1u));
  launches[90] = program().add.over(0)(sum.buffer(), 1u);
  expect_error<invalid_argument>([&] { (void)rt().submit(bulk(launches)); }, 90, n, "is empty");
  rt().wait_idle();
  EXPECT_EQ(sum.read(), 398u);
}

// error guess: a bulk whose items cannot be counted in memory
TEST_P(BulkChunkError, TheGreatestNumberOfItems) {
  measure_add();
  device_word sum{rt(), last()};
  struct my_failure {};
  auto const arguments = add_to(sum);
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  EXPECT_THROW((void)rt().submit(bulk(program().add.over(1, 1), most,
                                      [&](std::size_t i) {
                                        if (i == 1000) { throw my_failure{}; }
                                        return arguments(i);
                                      })),
               my_failure);
  rt().wait_idle();
  EXPECT_EQ(sum.read(), 1000u);
}

/// Converts to a number, but 150 does not.
struct picky {
  std::uint32_t value;
  operator std::uint32_t() const {
    if (value == 150) { throw invalid_argument{"150 is not a number"}; }
    return value;
  }
};

// requirement: an item whose argument cannot be converted is named
TEST_P(BulkChunkError, ArgumentThatDoesNotConvert) {
  measure_add();
  device_word sum{rt(), last()};
  expect_error<invalid_argument>(
      [&] {
        (void)rt().submit(bulk(program().add.over(1, 1), n, [&](std::size_t i) {
          return std::tuple{sum.buffer().span(), picky{static_cast<word>(i)}};
        }));
      },
      150, n, "150 is not a number");
  rt().wait_idle();
  EXPECT_EQ(sum.read(), 149u * 150 / 2);
}

// requirement: the checks see each item
TEST_P(BulkChunkError, ChecksSeeEachItem) {
  auto changed = options();
  changed.checks = checks{.order = true};
  start(changed);
  device_word value{rt(), last()};
  auto const write = program().write.over(1, 1);
  for (int i = 0; i < 8; ++i) { rt().submit(write(value.buffer(), 1u)).wait(); }
  expect_error<missing_dependency>([&] { (void)rt().submit(bulk(write, n, add_to(value))); }, 1, n,
                                   "no order");
  rt().wait_idle();
}

}  // namespace
}  // namespace flotilla::test
