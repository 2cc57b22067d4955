// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A device thread runs operations and sleeps. One thread pushes an operation, and two threads ask
// for something and wake it. Checks every interleaving: nothing that was pushed or asked for waits
// for ever. The model follows the steps of device_thread::run and operation_inbox.

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <cstddef>
#include <string>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw : signed char {
  none,
  reads_before_taking,  // the device thread reads what was asked for before it takes the call
  asks_after_waking,    // a thread wakes the device thread before it writes what it asks for
  no_mutex_in_wake,     // wake() notifies without locking the mutex
  no_mutex_in_push,     // push() notifies without locking the mutex
  sleeps_when_woken,    // the device thread does not check for calls before it waits
  no_mark,              // the device thread does not write that it sleeps
};

struct device_thread_model {
  static constexpr int askers = 2;
  enum roles : signed char { device, pusher, first_asker };
  static constexpr int moves = first_asker + askers;
  enum inboxes : signed char { empty, filled, asleep };
  enum device_places : signed char {
    read_early,
    take_call,
    read_asked,
    take_arrivals,
    answer,
    mark_sleep,
    lock,
    check,
    begin_wait,
    wait,
    unmark
  };
  enum caller_places : signed char { ask, call, lock_mutex, notify, wait_for_answer, caller_done };

  flaw with;
  device_places at = take_call;
  inboxes inbox = empty;
  bool woken = false;
  int holds_mutex = -1;  // the thread that holds the mutex
  int asked = 0;
  int seen = 0;
  int answered = 0;
  bool ran = false;  // whether the operation has run
  caller_places push_at = call;
  std::array<caller_places, askers> ask_at{};
  std::array<int, askers> number{};

  explicit device_thread_model(flaw broken) : with{broken} { at = round(); }
  auto operator<=>(device_thread_model const&) const = default;

  [[nodiscard]] device_places round() const {
    return with == flaw::reads_before_taking ? read_early : take_call;
  }
  bool step(int mover) {
    if (mover == device) { return step_device(); }
    if (mover == pusher) { return step_pusher(); }
    return step_asker(static_cast<std::size_t>(mover - first_asker));
  }

  bool step_device() {
    switch (at) {
      case read_early:
        seen = asked;
        at = take_call;
        return true;
      case take_call:
        woken = false;
        at = with == flaw::reads_before_taking ? take_arrivals : read_asked;
        return true;
      case read_asked:
        seen = asked;
        at = take_arrivals;
        return true;
      case take_arrivals:
        ran = ran || inbox == filled;
        inbox = empty;
        at = answer;
        return true;
      case answer:
        answered = seen;
        at = mark_sleep;
        return true;
      case mark_sleep:
        if (inbox == filled) {
          at = round();
          return true;
        }
        if (with != flaw::no_mark) { inbox = asleep; }
        at = lock;
        return true;
      case lock:
        if (holds_mutex >= 0) { return false; }
        holds_mutex = device;
        at = check;
        return true;
      case check: {
        bool const marked = inbox == (with == flaw::no_mark ? empty : asleep);
        bool const called = woken && with != flaw::sleeps_when_woken;
        at = marked && !called ? begin_wait : unmark;
        if (at == unmark) { holds_mutex = -1; }
        return true;
      }
      case begin_wait:
        holds_mutex = -1;
        at = wait;
        return true;
      case wait: return false;  // until it is notified
      case unmark:
        if (inbox == asleep) { inbox = empty; }
        at = round();
        return true;
    }
    return false;
  }
  void notify_device() {
    if (at == wait) { at = lock; }  // and checks again
  }

  bool step_pusher() {
    switch (push_at) {
      case call: {
        bool const slept = inbox == asleep;
        inbox = filled;
        push_at = !slept ? caller_done : with == flaw::no_mutex_in_push ? notify : lock_mutex;
        return true;
      }
      case lock_mutex:
        if (holds_mutex >= 0) { return false; }
        push_at = notify;  // it unlocks at once
        return true;
      case notify:
        notify_device();
        push_at = caller_done;
        return true;
      default: return false;
    }
  }

  bool step_asker(std::size_t which) {
    caller_places& here = ask_at[which];
    bool const late = with == flaw::asks_after_waking;
    switch (here) {
      case ask:
        if (late) {
          woken = true;
        } else {
          number[which] = ++asked;
        }
        here = call;
        return true;
      case call:
        if (late) {
          number[which] = ++asked;
        } else {
          woken = true;
        }
        here = with == flaw::no_mutex_in_wake ? notify : lock_mutex;
        return true;
      case lock_mutex:
        if (holds_mutex >= 0) { return false; }
        here = notify;
        return true;
      case notify:
        notify_device();
        here = wait_for_answer;
        return true;
      case wait_for_answer:
        if (answered < number[which]) { return false; }
        here = caller_done;
        return true;
      case caller_done: return false;
    }
    return false;
  }

  [[nodiscard]] std::string wrong() const { return {}; }
  [[nodiscard]] std::string stuck() const {
    if (!ran) { return "the operation waits for ever"; }
    for (caller_places const each : ask_at) {
      if (each != caller_done) { return "a thread waits for an answer for ever"; }
    }
    return {};
  }
};

// requirement
TEST(DeviceThreadModel, NothingWaitsForEver) {
  exploration const found = explore(device_thread_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 1000u);
}

// requirement: the checker finds each built-in error
TEST(DeviceThreadModelFlaws, AreFound) {
  for (flaw const each :
       {flaw::reads_before_taking, flaw::asks_after_waking, flaw::no_mutex_in_wake,
        flaw::no_mutex_in_push, flaw::sleeps_when_woken, flaw::no_mark}) {
    EXPECT_NE(explore(device_thread_model{each}).wrong, "") << static_cast<int>(each);
  }
}

}  // namespace
}  // namespace flotilla::test
