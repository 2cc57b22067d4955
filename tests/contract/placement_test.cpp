// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// How flotilla chooses the device of a task.

#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <vector>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class Placement : public contract_test {
 protected:
  /// Submits `count` callables with the options `how`.
  /// @return for each device, the number of callables that ran on it.
  std::map<unsigned, int> where_run(int count, task_options const& how = {}) {
    std::mutex guard;
    std::map<unsigned, int> runs;
    for (int i = 0; i < count; ++i) {
      (void)rt().submit(
          [&](task_context& context) {
            std::lock_guard const hold{guard};
            ++runs[context.device().ordinal.value];
          },
          how);
    }
    rt().wait_idle();
    std::lock_guard const hold{guard};
    return runs;
  }
};
FLOTILLA_CONTRACT(Placement);

// requirement
TEST_P(Placement, NamedDeviceRunsTheTask) {
  for (device_ordinal const device : ordinals()) {
    EXPECT_EQ(where_run(20, {.device = device}), (std::map<unsigned, int>{{device.value, 20}}));
  }
}

// requirement
TEST_P(Placement, TicketTellsTheNamedDevice) {
  for (device_ordinal const device : ordinals()) {
    ticket const done = rt().submit(program().nothing.with_shape({1}, {1})(), {.device = device});
    EXPECT_EQ(done.device(), device);
    done.wait();
    EXPECT_EQ(done.device(), device);
  }
}

// requirement
TEST_P(Placement, TicketTellsWhichDeviceTookASharedTask) {
  std::atomic<int> ran_on{-1};
  ticket const done = rt().submit(
      [&](task_context& context) { ran_on = static_cast<int>(context.device().ordinal.value); });
  if (worker_count() == 0 && device_count() > 1) {
    EXPECT_EQ(done.device(), std::nullopt) << "no device can have taken the task yet";
  }
  done.wait();
  ASSERT_TRUE(done.device().has_value());
  EXPECT_EQ(static_cast<int>(done.device()->value), ran_on);
}

// requirement
TEST_P(Placement, LaunchGoesToTheDeviceOfItsBuffer) {
  for (device_ordinal const device : ordinals()) {
    device_word value{rt(), device};
    ticket const done = rt().submit(program().write.with_shape({1}, {1})(value.buffer(), 4u));
    EXPECT_EQ(done.device(), device);
    EXPECT_EQ(value.read({done}), 4u);
  }
}

// requirement
TEST_P(Placement, RoundRobinGivesEveryDeviceTheSameCount) {
  auto changed = options();
  changed.placement = std::make_shared<round_robin>();
  start(changed);
  std::map<unsigned, int> expected;
  for (device_ordinal const device : ordinals()) { expected[device.value] = 30; }
  EXPECT_EQ(where_run(30 * device_count()), expected);
}

// requirement
TEST_P(Placement, WeightedPlacementFollowsTheWeights) {
  std::vector<double> weights;
  std::map<unsigned, int> expected;
  for (device_ordinal const device : ordinals()) {
    weights.push_back(1.0 + device.value);
    expected[device.value] = 10 * (1 + static_cast<int>(device.value));
  }
  auto changed = options();
  changed.placement = std::make_shared<weighted>(weights);
  start(changed);
  EXPECT_EQ(where_run(10 * device_count() * (device_count() + 1) / 2), expected);
}

// requirement: a device with weight 0 gets no tasks
TEST_P(Placement, ZeroWeightGetsNoTasks) {
  std::vector<double> weights(static_cast<std::size_t>(device_count()), 0);
  weights.back() = 0.5;
  auto changed = options();
  changed.placement = std::make_shared<weighted>(weights);
  start(changed);
  EXPECT_EQ(where_run(20), (std::map<unsigned, int>{{last().value, 20}}));
}

// error guess
TEST_P(Placement, InvalidWeightsAreRefused) {
  auto const nan = std::numeric_limits<double>::quiet_NaN();
  for (std::vector<double> const& each : {std::vector<double>{}, {0, 0}, {1, -1}, {1, nan}}) {
    EXPECT_THROW(weighted{each}, invalid_argument);
  }
  EXPECT_THAT(thrown<invalid_argument>([] { weighted{{1, -3}}; }), HasSubstr("device 1"));
  EXPECT_THAT(thrown<invalid_argument>([] { weighted{std::vector<double>{}}; }),
              HasSubstr("there are no weights"));
  auto changed = options();
  changed.placement = std::make_shared<weighted>(std::vector<double>(7, 1));
  start(changed);
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)rt().submit([](task_context&) {}); }),
              HasSubstr("the number of weights is 7"));
}

/// Places a task on the device whose number is the task's label. Counts the calls of `place`.
class by_label final : public placement {
 public:
  std::optional<device_ordinal> place(std::span<device const>, task_options const& how) override {
    ++asked;
    if (how.label.empty()) { return std::nullopt; }
    return device_ordinal{static_cast<unsigned>(how.label.front() - '0')};
  }
  std::atomic<int> asked{0};
};

// requirement
TEST_P(Placement, UserDefinedPlacementDecides) {
  auto changed = options();
  auto const mine = std::make_shared<by_label>();
  changed.placement = mine;
  start(changed);
  for (device_ordinal const device : ordinals()) {
    EXPECT_EQ(where_run(10, {.label = std::to_string(device.value)}),
              (std::map<unsigned, int>{{device.value, 10}}));
  }
  EXPECT_EQ(mine->asked, 10 * device_count()) << "submit must call the placement once per task";
  int anywhere = 0;  // any device may run a task without a label
  for (auto const& [device, runs] : where_run(10)) { anywhere += runs; }
  EXPECT_EQ(anywhere, 10);
}

// requirement
TEST_P(Placement, PlacementIsNotAskedIfTheDeviceIsKnown) {
  auto changed = options();
  auto const mine = std::make_shared<by_label>();
  changed.placement = mine;
  start(changed);
  device_word value{rt(), last()};
  rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()}).wait();
  rt().submit(program().write.with_shape({1}, {1})(value.buffer(), 4u)).wait();
  EXPECT_EQ(mine->asked, 0);
}

// error guess: submit refuses a task if the placement returns a device that does not exist
TEST_P(Placement, PlacementOnAnUnknownDeviceIsRefused) {
  auto changed = options();
  changed.placement = std::make_shared<by_label>();
  start(changed);
  auto const message =
      thrown<unknown_device>([&] { (void)rt().submit([](task_context&) {}, {.label = "9"}); });
  EXPECT_THAT(message, HasSubstr("9"));
  int runs = 0;
  rt().submit([&](task_context&) { ++runs; }).wait();
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace flotilla::test
