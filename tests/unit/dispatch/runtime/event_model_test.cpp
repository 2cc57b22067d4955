// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// An event loop polls a descriptor and pumps, other threads submit and end tasks, and a thread
// watches the device. Checks every interleaving: the loop must never sleep for ever while there is
// work for it.
//
// There are two handshakes. In each, a thread first publishes a change, and then reads the state
// that the other thread changes:
//
//   an event:          publish it, `raised` := true --> was it false? --yes--> write
//   the loop pumps:    read the descriptor, `raised` := false, look for events
//
//   a pass ends:       publish the batches, or clear the signal --> `asleep`? --yes--> wake
//   the thread sleeps: `asleep` := true --> raised, or nothing in flight? --yes--> sleep
//
// The model follows the steps of event_signal::raise and clear, of
// event_source::sleep_until_needed, run, lease_released and pumping, and of runtime_state::pump.

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <string>
#include <utility>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw : signed char {
  none,
  publishes_late,         // a thread raises the signal before it publishes the event
  lowers_before_reading,  // `clear` lowers the flag before it empties the descriptor
  looks_before_clearing,  // `pump` clears the signal after it has looked for events
  checks_before_asleep,   // the thread checks for batches only before it sets `asleep`
  no_wake_after_pump      // a pass does not wake the thread
};

/// Threads 0 and 1 submit one task each. Thread 2 is the event loop: it launches the tasks and ends
/// them. Thread 3 is the device, which completes a launched task at any time. Thread 4 watches the
/// device.
struct event_model {
  static constexpr int threads = 5;
  static constexpr int moves = threads;
  static constexpr int tasks = 2;

  enum places : signed char {
    // steps of a thread that submits, and of event_signal::raise
    publish,
    raise,
    write,
    // steps of the loop: poll, event_signal::clear, runtime_state::pump, lease_released
    poll,
    read,
    lower,
    end_completed,
    launch,
    release,
    // the device
    completes,
    // steps of the thread: sleep_until_needed, run, event_signal::raise
    set_asleep,
    check_raised,
    check_batches,
    asleep_now,
    look,
    raise_for_device,
    write_for_device,
    ended,
  };

  flaw with;
  std::array<places, threads> at{publish, publish, poll, completes, set_asleep};
  int submitted = 0;  // tasks that `launch` would find
  int running = 0;
  int completed = 0;  // tasks that the device has completed and no thread has ended
  int done = 0;
  int written = 0;  // the counter of the descriptor
  bool raised = false;
  bool batches = false;  // lane_set::has_batches
  bool asleep = false;

  explicit event_model(flaw broken) : with{broken} {
    if (with == flaw::publishes_late) { at[0] = at[1] = raise; }
    if (with == flaw::checks_before_asleep) { at[4] = check_raised; }
  }
  auto operator<=>(event_model const&) const = default;

  bool step(int me) {
    places& pc = at[static_cast<std::size_t>(me)];
    bool const publishes_late = with == flaw::publishes_late;
    bool const lowers_first = with == flaw::lowers_before_reading;
    bool const looks_first = with == flaw::looks_before_clearing;
    bool const checks_first = with == flaw::checks_before_asleep;
    switch (pc) {
      case publish: ++submitted, pc = publishes_late ? ended : raise; return true;
      case raise: {
        places const next = publishes_late ? publish : ended;
        pc = std::exchange(raised, true) ? next : write;
        return true;
      }
      case write: ++written, pc = publishes_late ? publish : ended; return true;

      case poll:
        if (written == 0) { return false; }
        pc = looks_first ? end_completed : lowers_first ? lower : read;
        return true;
      case read: written = 0, pc = lowers_first ? end_completed : lower; return true;
      case lower:
        raised = false;
        pc = lowers_first ? read : looks_first ? release : end_completed;
        return true;
      case end_completed: done += std::exchange(completed, 0), pc = launch; return true;
      case launch:
        running += std::exchange(submitted, 0);
        batches = running + completed != 0;
        pc = looks_first ? read : release;
        return true;
      case release:
        if (asleep && with != flaw::no_wake_after_pump) { asleep = false; }
        pc = poll;
        return true;

      case completes:
        if (running == 0) { return false; }
        --running, ++completed;
        return true;

      case set_asleep: asleep = true, pc = checks_first ? asleep_now : check_raised; return true;
      case check_raised: pc = raised ? not_needed() : check_batches; return true;
      case check_batches:
        if (batches) { asleep = false; }
        pc = batches ? look : not_needed();
        return true;
      case asleep_now:
        if (asleep) { return false; }
        pc = checks_first ? check_raised : set_asleep;
        return true;
      case look:
        pc = completed != 0 ? raise_for_device : checks_first ? check_raised : set_asleep;
        return true;
      case raise_for_device:
        pc = !std::exchange(raised, true) ? write_for_device
             : checks_first               ? check_raised
                                          : set_asleep;
        return true;
      case write_for_device: ++written, pc = checks_first ? check_raised : set_asleep; return true;
      case ended: return false;
    }
    return false;
  }
  /// The thread's next step if there is nothing to watch.
  [[nodiscard]] places not_needed() const {
    return with == flaw::checks_before_asleep ? set_asleep : asleep_now;
  }
  [[nodiscard]] std::string wrong() const {
    return submitted + running + completed + done > tasks ? "tasks are miscounted" : "";
  }
  [[nodiscard]] std::string stuck() const {
    return done == tasks ? "" : "a task is left, and the loop sleeps";
  }
};

// requirement
TEST(EventModel, TheLoopNeverSleepsWhileThereIsWork) {
  exploration const found = explore(event_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 300u);
}

// requirement: the checker finds each built-in error
TEST(EventModel, FlawsAreFound) {
  for (flaw const each :
       {flaw::publishes_late, flaw::lowers_before_reading, flaw::looks_before_clearing,
        flaw::checks_before_asleep, flaw::no_wake_after_pump}) {
    EXPECT_EQ(explore(event_model{each}).wrong, "a task is left, and the loop sleeps")
        << "flaw " << static_cast<int>(each);
  }
}

}  // namespace
}  // namespace flotilla::test
