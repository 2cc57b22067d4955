// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Bulks whose items fail, are refused or are cancelled.

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <tuple>
#include <vector>

#include <flotilla/task/bulk.hpp>

#include "contract/continuation.hpp"
#include "support/launch_gate.hpp"

namespace flotilla::test {
namespace {

using word = std::uint32_t;

/// What a bulk_error says.
struct seen_error {
  std::size_t index = 0, count = 0;
  std::string text{};
  std::exception_ptr cause{};
};

template <class Action>
seen_error error_of(Action const& action) {
  try {
    action();
    ADD_FAILURE() << "nothing was thrown";
  } catch (bulk_error const& why) { return {why.index(), why.count(), why.what(), why.cause()}; }
  return {};
}

template <class Error>
std::string cause_of(seen_error const& why) {
  if (why.cause == nullptr) { return "no cause"; }
  return thrown<Error>([&] { std::rethrow_exception(why.cause); });
}

class BulkError : public contract_test {
 protected:
  using checked = kernel<word const*, word, task_status, word*>;
  /// Adds 1 to the last argument, and fails if the first word is greater than the second argument.
  checked check() {
    return program().loaded.kernel<word const*, word, task_status, word*>("fail_above");
  }
  auto add_to(device_word& sum) {
    return [&sum](std::size_t) { return std::tuple{sum.buffer().span(), 1u}; };
  }
  /// Restarts the runtime with an on_error that collects the errors.
  struct reports {
    std::mutex lock;
    std::vector<std::string> errors;
  };
  std::shared_ptr<reports> start_with_reports() {
    auto const seen = std::make_shared<reports>();  // the handler may outlive the test
    auto changed = options();
    changed.on_error = [seen](std::exception_ptr why) {
      std::lock_guard const guard{seen->lock};
      seen->errors.push_back(message_of(why));
    };
    start(changed);
    return seen;
  }
};
FLOTILLA_CONTRACT(BulkError);

// requirement: the ticket throws the error of the failed item with the smallest index. The other
// items run, and successors fail with this error
TEST_P(BulkError, FailedItemWithTheSmallestIndex) {
  constexpr std::size_t n = 60;
  std::vector<word> limits(n);
  limits[17] = limits[18] = limits[40] = 9;
  device_buffer<word> const values{rt(), last(), std::span<word const>{limits}};
  device_word runs{rt(), last()};
  ticket const all = rt().submit(
      bulk(check().over(1, 1), n,
           [&](std::size_t i) {
             return std::tuple{values.subspan(i, 1), 5u, task_status{}, runs.buffer().span()};
           }),
      {.label = "checks"});
  ticket const behind = rt().submit([](task_context&) {}, {.device = first(), .after = {all}});
  for (int i = 0; i < 2; ++i) {
    seen_error const why = error_of([&] { all.wait(); });
    EXPECT_EQ(why.index, 17u);
    EXPECT_EQ(why.count, n);
    EXPECT_THAT(why.text, AllOf(StartsWith("item 17 of 60: "), HasSubstr("checks")));
    EXPECT_THAT(why.text, EndsWith(cause_of<task_failed>(why)));
  }
  EXPECT_THAT(thrown<dependency_failed>([&] { behind.wait(); }),
              AllOf(HasSubstr("item 17 of 60: "), HasSubstr("checks")));
  EXPECT_EQ(runs.read(), n);
  EXPECT_FALSE(all.cancel());
}

// requirement: a launch that the driver refuses, and a failed predecessor
TEST_P(BulkError, RefusedLaunchesAndFailedPredecessors) {
  device_word sum{rt(), first()};
  std::vector<launch> launches(30, program().add.over(1, 1)(sum.buffer(), 1u));
  launches[7] = refused_launch(program());
  seen_error const refused = error_of([&] { rt().submit(bulk(launches)).wait(); });
  EXPECT_EQ(refused.index, 7u);
  EXPECT_THAT(cause_of<driver_error>(refused), HasSubstr("nothing"));
  EXPECT_EQ(sum.read(), 29u);
  ticket const failed =
      rt().submit([](task_context&) { throw std::runtime_error{"cause 5"}; }, {.device = last()});
  ticket const all =
      rt().submit(bulk(program().add.over(1, 1), 30, add_to(sum)), {.after = {failed}});
  seen_error const dependent = error_of([&] { all.wait(); });
  EXPECT_EQ(dependent.index, 0u);
  EXPECT_THAT(cause_of<dependency_failed>(dependent), EndsWith("cause 5"));
  EXPECT_EQ(sum.read(), 29u);
}

// requirement: `cancel` and a stop token cancel the items that are not launched
TEST_P(BulkError, CancelAndStop) {
  for (bool const by_token : {false, true}) {
    device_word sum{rt(), last()};
    std::stop_source source;
    launch_gate gate{rt(), program(), last()};
    ticket const all = rt().submit(bulk(program().add.over(1, 1), 50, add_to(sum)),
                                   {.after = {gate.gate()}, .stop = source.get_token()});
    ticket const other =
        rt().submit(bulk(program().add.over(1, 1), 10, add_to(sum)), {.after = {gate.gate()}});
    for (int i = 0; i < 3; ++i) { rt().pump(); }
    if (by_token) {
      source.request_stop();
    } else {
      EXPECT_TRUE(all.cancel());
    }
    EXPECT_TRUE(all.cancel());
    gate.open();
    seen_error const why = error_of([&] { all.wait(); });
    EXPECT_EQ(why.index, 0u);
    EXPECT_THAT(cause_of<task_cancelled>(why), EndsWith("was cancelled before it was launched"));
    EXPECT_TRUE(all.cancel()) << "the bulk has ended because it was cancelled";
    other.wait();
    EXPECT_FALSE(other.cancel());
    EXPECT_EQ(sum.read(), 10u);
    if (by_token) {
      ticket const late =
          rt().submit(bulk(program().add.over(1, 1), 3, add_to(sum)), {.stop = source.get_token()});
      EXPECT_THROW(late.wait(), bulk_error);
    }
  }
}

// requirement: cancelling during the launches: every item runs once or is cancelled, and the bulk
// ends
TEST_P(BulkError, CancelDuringLaunches) {
  for (int round = 0; round < 20; ++round) {
    device_word sum{rt(), last()};
    ticket const all = rt().submit(bulk(program().add.over(1, 1), 100, add_to(sum)));
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
    EXPECT_EQ(ran == 100, !failed) << ran;
  }
}

// requirement: if the function throws, the items before it run, and the others are not submitted.
// The errors of these items go to on_error
TEST_P(BulkError, FunctionThrows) {
  auto const seen = start_with_reports();
  device_word sum{rt(), last()};
  struct my_failure {};
  EXPECT_THROW((void)rt().submit(bulk(program().add.over(1, 1), 20,
                                      [&](std::size_t i) {
                                        if (i == 5) { throw my_failure{}; }
                                        return std::tuple{sum.buffer().span(), 1u};
                                      })),
               my_failure);
  EXPECT_THROW((void)rt().submit(bulk(20,
                                      [&](std::size_t i) {
                                        if (i == 4) { throw invalid_argument{"mine"}; }
                                        return i == 2 ? refused_launch(program())
                                                      : program().add.over(1, 1)(sum.buffer(), 1u);
                                      })),
               invalid_argument);
  rt().wait_idle();
  EXPECT_EQ(sum.read(), 8u);
  std::lock_guard const guard{seen->lock};
  ASSERT_EQ(seen->errors.size(), 1u);
  EXPECT_THAT(seen->errors[0], StartsWith("item 2 of 20: "));
}

// requirement: a refused item is named, and the items before it run
TEST_P(BulkError, RefusedItems) {
  auto const seen = start_with_reports();
  device_word sum{rt(), last()};
  runtime other{{.devices = device_spec(1), .workers = 1}};
  device_word foreign{other, first()};
  auto const mixed = [&](std::size_t i) {
    return std::tuple{i == 3 ? foreign.buffer().span() : sum.buffer().span(), 1u};
  };
  seen_error const wrong =
      error_of([&] { (void)rt().submit(bulk(program().add.over(1, 1), 9, mixed)); });
  EXPECT_EQ(wrong.index, 3u);
  EXPECT_EQ(wrong.count, 9u);
  EXPECT_THAT(wrong.text, EndsWith(cause_of<wrong_runtime>(wrong)));
  std::vector<memory_op> const fills{sum.buffer().fill(4), foreign.buffer().fill(4)};
  seen_error const fill = error_of([&] { (void)rt().submit(bulk(fills)); });
  EXPECT_EQ(fill.index, 1u);
  EXPECT_THAT(cause_of<wrong_runtime>(fill), HasSubstr("another runtime"));
  seen_error const grid =
      error_of([&] { (void)rt().submit(bulk(program().add.over(0), 4, add_to(sum))); });
  EXPECT_EQ(grid.index, 0u);
  EXPECT_THAT(cause_of<invalid_argument>(grid), HasSubstr("is empty"));
  rt().wait_idle();
  std::lock_guard const guard{seen->lock};
  EXPECT_TRUE(seen->errors.empty());
}

// requirement: wrong options, counts and ranges are refused, and a closed runtime submits nothing
TEST_P(BulkError, RefusedCalls) {
  device_word sum{rt(), last()};
  auto const add = program().add.over(1, 1);
  EXPECT_THROW((void)rt().submit(bulk(add, 3, add_to(sum)), {.device = device_ordinal{99}}),
               unknown_device);
  EXPECT_THROW((void)rt().submit(bulk(add, 3, add_to(sum)), {.after = {ticket{}}}),
               invalid_argument);
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)rt().submit(bulk(add, -3, add_to(sum))); }),
              HasSubstr("-3"));
  EXPECT_EQ(sum.read(), 0u);
  rt().close();
  EXPECT_THROW((void)rt().submit(bulk(add, 3, add_to(sum))), runtime_closed);
  EXPECT_THROW((void)rt().submit(bulk(add, 0, add_to(sum))), runtime_closed);
}

// requirement: the check of the order knows that a task after the ticket runs after all items, and
// names an item without an order
TEST_P(BulkError, OrderCheck) {
  auto changed = options();
  changed.checks = checks{.order = true};
  start(changed);
  device_word value{rt(), last()};
  auto const write = program().write.over(1, 1);
  ticket const all = rt().submit(bulk(write, 1, add_to(value)));
  EXPECT_THROW((void)rt().submit(write(value.buffer(), 1u)), missing_dependency);
  ticket const next = rt().submit(write(value.buffer(), 2u), {.after = {all}});
  seen_error const why =
      error_of([&] { (void)rt().submit(bulk(write, 5, add_to(value)), {.after = {next}}); });
  EXPECT_EQ(why.index, 1u);
  EXPECT_THAT(cause_of<missing_dependency>(why), HasSubstr("no order"));
  rt().wait_idle();
  rt().submit(bulk(write, 1, add_to(value))).wait();
  EXPECT_NO_THROW(rt().submit(write(value.buffer(), 3u)).wait());
}

}  // namespace
}  // namespace flotilla::test
