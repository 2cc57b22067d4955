// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The window of a device limits the number of open tasks. These tests fill the window.

#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class Window : public contract_test {
 protected:
  static constexpr std::size_t min_window = 64;
  void SetUp() override {
    contract_test::SetUp();
    if (IsSkipped()) { return; }
    auto changed = options();
    changed.window = min_window;
    start(changed);
    (void)program();
  }
  /// Fills the window of `device` with tasks that wait for `word`.
  /// @return the number of accepted tasks.
  std::size_t fill(held_word& word, device_ordinal device, std::vector<ticket>& open) {
    std::size_t accepted = 0;
    while (auto held = rt().try_submit(word.launch_of(program()), {.device = device})) {
      open.push_back(std::move(*held));
      if (++accepted > 2 * min_window) { break; }
    }
    return accepted;
  }
};
FLOTILLA_CONTRACT(Window);

// requirement
TEST_P(Window, TrySubmitReturnsNothingIfTheWindowIsFull) {
  held_word word{rt()};
  std::vector<ticket> open;
  EXPECT_EQ(fill(word, last(), open), min_window);
  // A full window refuses every kind of task.
  EXPECT_FALSE(rt().try_submit(program().nothing.with_shape({1}, {1})(), {.device = last()}));
  EXPECT_FALSE(rt().try_submit([](task_context&) {}, {.device = last()}));
  for (int i = 0; i < 3; ++i) { rt().pump(); }
  EXPECT_FALSE(rt().try_submit(program().nothing.with_shape({1}, {1})(), {.device = last()}))
      << "the launched tasks have not ended, so the window must still be full";
  word.release();
  for (ticket const& each : open) { each.wait(); }
  auto const after = rt().try_submit(program().nothing.with_shape({1}, {1})(), {.device = last()});
  ASSERT_TRUE(after);
  after->wait();
}

// requirement
TEST_P(Window, RefusedCallableStaysWithTheCaller) {
  held_word word{rt()};
  std::vector<ticket> open;
  ASSERT_EQ(fill(word, first(), open), min_window);
  auto const owned = std::make_shared<int>(0);
  callable mine = [owned](task_context&) { ++*owned; };
  EXPECT_FALSE(rt().try_submit(std::move(mine), {.device = first()}));
  EXPECT_TRUE(static_cast<bool>(mine)) << "try_submit moved from a callable that it refused";
  EXPECT_EQ(owned.use_count(), 2);
  word.release();
  rt().wait_idle();
  rt().submit(std::move(mine), {.device = first()}).wait();
  EXPECT_EQ(*owned, 1);
}

// requirement: the same for host tasks and events, which take places in the window of tasks that
// any device may run
TEST_P(Window, RefusedHostTaskStaysWithTheCaller) {
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = first()});
  std::vector<ticket> open;
  while (auto more = rt().try_submit(host_task([] {}), {.after = {held}})) {
    open.push_back(std::move(*more));
    ASSERT_LE(open.size(), 2 * min_window * device_count());
  }
  auto const owned = std::make_shared<int>(0);
  host_task mine{[owned] { ++*owned; }};
  EXPECT_FALSE(rt().try_submit(std::move(mine), {.after = {held}}));
  EXPECT_EQ(owned.use_count(), 2) << "try_submit destroyed a function that it refused";
  word.release();
  rt().wait_idle();
  rt().submit(std::move(mine)).wait();
  EXPECT_EQ(*owned, 1);
}

// requirement
TEST_P(Window, EachDeviceHasItsOwnWindow) {
  held_word word{rt()};
  std::vector<ticket> open;
  ASSERT_EQ(fill(word, first(), open), min_window);
  for (device_ordinal const device : ordinals()) {
    auto const other =
        rt().try_submit(program().nothing.with_shape({1}, {1})(), {.device = device});
    EXPECT_EQ(other.has_value(), device != first());
    if (other) { other->wait(); }
  }
}

// requirement: if the window is full and no other thread drains the device, `submit` drains the
// device
TEST_P(Window, SubmitIntoAFullWindowHelpsAndSucceeds) {
  device_word sum{rt(), last()};
  for (std::size_t i = 0; i < 20 * min_window; ++i) {
    (void)rt().submit(program().add.with_shape({1}, {1})(sum.buffer(), 1u));
  }
  rt().wait_idle();
  EXPECT_EQ(sum.read(), 20 * min_window);
}

// requirement: if the window is full, `submit` of a callable drains the device, whether or not the
// task names a device
TEST_P(Window, SubmitOfCallablesIntoAFullWindowHelpsAndSucceeds) {
  std::atomic<std::size_t> ran{0};
  for (std::size_t i = 0; i < 10 * min_window; ++i) {
    (void)rt().submit([&](task_context&) { ++ran; }, {.device = first()});
    (void)rt().submit([&](task_context&) { ++ran; });
  }
  rt().wait_idle();
  EXPECT_EQ(ran, 20 * min_window);
}

// requirement
TEST_P(Window, SubmitWaitsUntilThereIsRoom) {
  held_word word{rt()};
  std::vector<ticket> open;
  ASSERT_EQ(fill(word, last(), open), min_window);
  std::atomic<bool> returned{false};
  std::jthread const blocked{[&] {
    rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()}).wait();
    returned = true;
  }};
  EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
  EXPECT_FALSE(returned) << "submit returned while all " << min_window << " slots were in use";
  word.release();
  EXPECT_TRUE(pumping(rt(), [&] { return returned.load(); }));
}

// requirement
TEST_P(Window, FullWindowInsideACallableThrows) {
  std::vector<ticket> open;
  std::string message;
  std::size_t accepted = 0;
  rt().submit(
          [&](task_context&) {
            // This thread holds the device's lease, so no other thread can free slots.
            while (auto more = rt().try_submit(program().nothing.with_shape({1}, {1})(),
                                               {.device = last()})) {
              open.push_back(std::move(*more));
              if (++accepted > 2 * min_window) { return; }
            }
            message = thrown<window_full>(
                [&] { (void)rt().submit([](task_context&) {}, {.device = last()}); });
          },
          {.device = last()})
      .wait();
  EXPECT_EQ(accepted, min_window - 1) << "the callable itself uses one slot";
  EXPECT_THAT(message, HasSubstr("64"));
  for (ticket const& each : open) { each.wait(); }
}

// requirement: no task is lost if several threads submit into a full window
TEST_P(Window, ManySubmittersIntoAFullWindowLoseNothing) {
  constexpr unsigned each = 500;
  device_word sum{rt(), first()};
  {
    std::vector<std::jthread> team;
    for (int t = 0; t < 4; ++t) {
      team.emplace_back([&] {
        for (unsigned i = 0; i < each; ++i) {
          (void)rt().submit(program().add.with_shape({1}, {1})(sum.buffer(), 1u));
        }
      });
    }
  }
  rt().wait_idle();
  EXPECT_EQ(sum.read(), 4 * each);
}

}  // namespace
}  // namespace flotilla::test
