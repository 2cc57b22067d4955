// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Predecessors whose failure does not matter (task_options::after_end).

#include <stdexcept>
#include <vector>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class AfterEnd : public contract_test {
 protected:
  ticket failing(device_ordinal device) {
    return rt().submit([](task_context&) { throw std::runtime_error{"it failed"}; },
                       {.device = device});
  }
};
FLOTILLA_CONTRACT(AfterEnd);

// requirement: the task runs after a predecessor in `after_end` that failed
TEST_P(AfterEnd, FailedPredecessorDoesNotFailTheTask) {
  device_word value{rt(), last(), 4};
  for (device_ordinal const device : ordinals()) {
    ticket const bad = failing(device);
    rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 1u),
                {.device = last(), .after_end = {bad}})
        .wait();
    rt().submit([](task_context&) {}, {.device = device, .after_end = {bad}}).wait();
    rt().submit(host_task([] {}), {.after_end = {bad}}).wait();
    EXPECT_THROW(bad.wait(), std::runtime_error);
  }
}

// requirement: `after` still fails the task if both lists are given, in any combination of sizes
TEST_P(AfterEnd, FailedPredecessorInAfterFailsTheTask) {
  for (int order_only = 0; order_only < 7; ++order_only) {
    for (int strict = 1; strict < 7; ++strict) {
      task_options good, bad;
      std::vector<ticket> tickets;
      for (int i = 0; i < order_only; ++i) {
        tickets.push_back(failing(last()));
        good.after_end.add(tickets.back());
        bad.after_end.add(tickets.back());
      }
      for (int i = 0; i < strict; ++i) {
        tickets.push_back(rt().submit([](task_context&) {}, {.device = first()}));
        good.after.add(tickets.back());
        if (i != strict - 1) { bad.after.add(tickets.back()); }
      }
      tickets.push_back(failing(first()));
      bad.after.add(tickets.back());
      good.device = bad.device = last();
      ticket const runs = rt().submit(program().nothing.with_shape({1}, {1})(), good);
      ticket const fails = rt().submit(program().nothing.with_shape({1}, {1})(), bad);
      ticket const fails_on_host = rt().submit(
          host_task([] {}), host_options{.after = bad.after, .after_end = bad.after_end});
      runs.wait();
      EXPECT_THROW(fails.wait(), dependency_failed) << order_only << " and " << strict;
      EXPECT_THROW(fails_on_host.wait(), dependency_failed) << order_only << " and " << strict;
    }
  }
}

// requirement: `after_end` orders tasks as `after` does
TEST_P(AfterEnd, TheTaskRunsAfterThem) {
  device_word value{rt(), first(), 4};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  ticket const step = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 1u),
                                  {.device = first(), .after_end = {held}});
  EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
  EXPECT_FALSE(step.ready());
  word.release();
  step.wait();
  EXPECT_TRUE(held.ready());
  EXPECT_EQ(value.read(), 9u);
}

// requirement: errors name the list and the entry
TEST_P(AfterEnd, MistakesAreNamed) {
  ticket const good = rt().submit([](task_context&) {});
  EXPECT_THAT(thrown<invalid_argument>([&] {
                rt().post([](task_context&) {}, {.after_end = {good, ticket{}}});
              }),
              HasSubstr("entry 1 of `after_end` names no task"));
}

}  // namespace
}  // namespace flotilla::test
