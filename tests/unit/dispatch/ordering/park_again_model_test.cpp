// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A task whose device was lost is launched a second time. Threads park successors on it before and
// after the loss. Checks every interleaving: each successor is started. The model follows
// the steps of dependencies::park, take_back_launch, mark_launched and release_successors.

#include <gtest/gtest.h>

#include <compare>
#include <string>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// A task is launched, its launch is taken back, and it is launched again and ends. The thread that
/// does this also starts a successor before the second launch, and another thread starts one at any
/// time. dependencies::park, mark_launched and release_successors.
struct park_again_model {
  enum class flaw : signed char { none, does_not_open_again };
  static constexpr int moves = 2;
  static constexpr int own = 0, other = 1;
  enum class states : signed char { start, park, push, look, parked, closing, done };
  enum class owner_steps : signed char {
    first_launch,
    first_release,
    take_back,
    successor,
    launch,
    release,
    end,
    close,
    over
  };

  flaw with;
  owner_steps owner = owner_steps::first_launch;
  states tasks[2] = {states::start, states::start};
  bool is_launched = false;  // whether the task has a mark
  bool was_launched_again = false;
  bool has_ended = false;
  bool is_closed = false;  // the list, and who is in it
  bool in_list[2] = {};
  std::string error{};

  explicit park_again_model(flaw broken) : with{broken} {}
  auto operator<=>(park_again_model const&) const = default;

  [[nodiscard]] bool is_open() const { return !is_launched && !has_ended; }
  void release_list() {
    if (is_closed) { return; }
    is_closed = true;
    for (int each : {own, other}) {
      if (in_list[each]) {
        in_list[each] = false;
        if (tasks[each] == states::parked) { tasks[each] = states::start; }
      }
    }
  }
  /// The steps of a thread that starts the successor `which`.
  bool step_task(int which) {
    states& one = tasks[which];
    switch (one) {
      case states::start:
        // The other device waits on the host until the task has ended, or looks again.
        one = is_open() ? states::park : (which == own || has_ended) ? states::done : states::start;
        return which == own || one != states::start || !is_launched || !was_launched_again;
      case states::park:
        if (!is_closed) {
          one = states::push;
        } else if (!is_open()) {
          one = states::start;
        } else if (with == flaw::does_not_open_again) {
          return false;  // the thread looks again forever
        } else {
          is_closed = false;
        }
        return true;
      case states::push:
        if (is_closed) {
          one = states::park;
          return true;
        }
        in_list[which] = true;
        one = states::look;
        return true;
      case states::look:
        if (!in_list[which]) {
          one = states::start;  // another thread has released it
        } else {
          one = is_open() ? states::parked : states::closing;
        }
        return true;
      case states::closing:
        one = in_list[which] ? states::parked : states::start;
        release_list();
        return true;
      case states::parked: return false;
      case states::done: return false;
    }
    return false;
  }
  bool step(int mover) {
    if (mover == 1) { return step_task(other); }
    using enum owner_steps;
    switch (owner) {
      case first_launch:
        is_launched = true;
        owner = first_release;
        return true;
      case first_release:
        if (in_list[other]) { release_list(); }
        owner = take_back;
        return true;
      case take_back:
        is_launched = false;
        owner = successor;
        return true;
      case successor:
        // The thread goes on when the successor is parked.
        if (tasks[own] == states::parked || tasks[own] == states::done) {
          owner = launch;
          return true;
        }
        return step_task(own);
      case launch:
        is_launched = was_launched_again = true;
        owner = owner_steps::release;
        return true;
      case owner_steps::release:
        if (in_list[own] || in_list[other]) { release_list(); }
        owner = end;
        return true;
      case end:
        has_ended = true;
        owner = close;
        return true;
      case close:
        release_list();
        owner = over;
        return true;
      case over: return tasks[own] != states::done && step_task(own);
    }
    return false;
  }
  [[nodiscard]] std::string wrong() const { return error; }
  [[nodiscard]] std::string stuck() const {
    return tasks[own] == states::done && tasks[other] == states::done ? ""
                                                                      : "a task is never started";
  }
};

// requirement
TEST(ParkAgainModel, TasksCanBeParkedOnATaskThatStartsAgain) {
  exploration const found = explore(park_again_model{park_again_model::flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 50u);
}

// requirement: the checker finds the built-in error
TEST(ParkAgainModelFlaws, AreFound) {
  using flaw_of = park_again_model::flaw;
  EXPECT_NE(explore(park_again_model{flaw_of::does_not_open_again}).wrong, "");
}

}  // namespace
}  // namespace flotilla::test
