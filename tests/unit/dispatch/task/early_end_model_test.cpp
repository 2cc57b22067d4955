// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Two threads cancel a task and end it, while a third thread takes its slot out of a queue, and
// then launches the task, ends it, or lets go of the slot. Checks every interleaving: the task ends
// once, the slot goes back once, and not before the task has ended and has left the queue. The
// model follows the steps of request_cancel, claim_early_end, task_end::end_early, leave_early_end,
// take_end and leave_queue. cancellation_model_test.cpp has the details of request_cancel.

#include <gtest/gtest.h>

#include <array>
#include <compare>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw : signed char {
  none,
  claims_blindly,     // a canceller ends the task without a claim
  always_gives_back,  // the thread that ends the task early gives the slot back at once
  never_gives_back,   // a thread that takes the slot out of the queue forgets a task that has ended
  forgets_the_queue,  // the end of the task overwrites what the queue's thread has written
};

struct early_end_model {
  static constexpr int threads = 3;  // thread 0 has the queue, threads 1 and 2 cancel
  static constexpr int moves = threads;
  enum states : signed char { none, cancelled, withdrawn, taken, ending, dropped, left };
  enum places : signed char {
    // thread 0
    look,
    take,
    launch,
    end_taken,
    return_slot,
    leave,
    finished,
    // threads 1 and 2
    cancel,
    claim,
    end_early,
    leave_early,
    done,
  };
  struct word {
    signed char generation = 1;  // 1: open, 2: ended
    states state = none;
    auto operator<=>(word const&) const = default;
  };

  flaw with;
  std::array<places, threads> at{look, cancel, cancel};
  word now{};
  bool starting = false;
  bool in_queue = true;
  signed char ends = 0, returns = 0;
  bool ran = false, returned_early = false;

  explicit early_end_model(flaw broken) : with{broken} {}
  auto operator<=>(early_end_model const&) const = default;

  bool step(int me) {
    std::size_t const i = static_cast<std::size_t>(me);
    return me == 0 ? drive(at[0]) : end(at[i]);
  }
  void give_back() {
    ++returns;
    returned_early = returned_early || in_queue || now.generation == 1;
  }
  bool drive(places& pc) {
    switch (pc) {
      case look: starting = true, pc = take; return true;
      case take:  // the fence before this step pairs with the fence in request_cancel
        in_queue = false;
        if (now.state == none || now.state == withdrawn) {
          pc = launch;
        } else if (now.state == cancelled) {
          now.state = taken, pc = end_taken;
        } else {
          pc = leave;
        }
        return true;
      case launch: ran = true, pc = end_taken; return true;
      case end_taken: now = {2, none}, ++ends, pc = return_slot; return true;
      case return_slot: give_back(), pc = finished; return true;
      case leave:
        if (now.state == left) {
          now.state = none;
          if (with != flaw::never_gives_back) { give_back(); }
        } else {
          now.state = dropped;
        }
        pc = finished;
        return true;
      default: return false;
    }
  }
  bool end(places& pc) {
    switch (pc) {
      case cancel:
        // One step, because cancellation_model_test.cpp checks the steps of request_cancel.
        if (now.generation != 1) { return pc = done, true; }
        if (now.state == none) { now.state = starting ? withdrawn : cancelled; }
        pc = now.state == withdrawn ? done : claim;
        return true;
      case claim:
        if (with == flaw::claims_blindly && now.generation == 1) {
          now.state = ending, pc = end_early;
        } else if (now.generation == 1 && now.state == cancelled) {
          now.state = ending, pc = end_early;
        } else {
          pc = done;
        }
        return true;
      case end_early:
        if (with == flaw::forgets_the_queue) { now.state = ending; }
        now.generation = 2, ++ends, pc = leave_early;
        return true;
      case leave_early:
        if (with == flaw::always_gives_back || now.state == dropped) {
          now.state = none, give_back();
        } else {
          now.state = left;
        }
        pc = done;
        return true;
      default: return false;
    }
  }

  [[nodiscard]] std::string wrong() const {
    if (ends > 1) { return "the task has ended twice"; }
    if (returns > 1) { return "the slot was given back twice"; }
    if (returned_early) { return "the slot was given back too early"; }
    return ran && ends == 1 && now.state == left ? "a task that ran was ended early" : "";
  }
  [[nodiscard]] std::string stuck() const {
    if (at != std::array{finished, done, done}) { return "a thread is stuck"; }
    if (ends != 1) { return "the task has not ended"; }
    return returns == 1 ? "" : "the slot is lost";
  }
};

// requirement
TEST(EarlyEndModel, TheTaskEndsOnceAndTheSlotGoesBackOnce) {
  exploration const found = explore(early_end_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 40u);
}

// requirement: the checker finds each built-in error
TEST(EarlyEndModel, FlawsAreFound) {
  EXPECT_EQ(explore(early_end_model{flaw::claims_blindly}).wrong, "the task has ended twice");
  EXPECT_EQ(explore(early_end_model{flaw::always_gives_back}).wrong,
            "the slot was given back too early");
  EXPECT_EQ(explore(early_end_model{flaw::never_gives_back}).wrong, "the slot is lost");
  EXPECT_EQ(explore(early_end_model{flaw::forgets_the_queue}).wrong, "the slot is lost");
}

}  // namespace
}  // namespace flotilla::test
