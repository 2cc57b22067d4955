// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A thread submits shared tasks, and two devices take them from the thread's inbox. Checks every
// interleaving: each task must be taken exactly once, and for each task there must be a thread that
// will take it. The model follows the steps of shared_queue::announce, begin_pull and set_pending,
// of inbox::try_claim and unclaim, of intake::pull_shared, device_driver::drain and lease_guard,
// and of worker::run, drain_devices and stay_after_all.

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <utility>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw : signed char {
  none,
  no_claim,         // two devices can pop from the inbox at the same time
  forgets_claimed,  // pull_shared does not set `left` if the other device has claimed the inbox
  clears_late,      // pull_shared calls begin_pull only after it has taken tasks
};

/// Thread 0 submits. Threads 1 and 2 are workers. A device has room for one task, so it takes at
/// most one task in a pull.
struct shared_queue_model {
  static constexpr int tasks = 3;
  static constexpr int threads = 3;
  static constexpr int moves = threads;
  static constexpr int max = 2;  // the maximum number of workers
  static constexpr int devices = 2;

  enum places : signed char {
    // steps of submitter::submit and shared_queue::announce
    push,
    announce,
    exchange,
    // step of worker_pool::wake, which any thread can call
    wake,
    // steps of worker::run and drain_devices
    absent,
    look,
    try_lease,
    // steps of device_driver::drain and intake::pull_shared
    drain,
    ask,
    clear,
    claim,
    read,
    pop,
    see_left,
    unclaim,
    set_pending,
    // steps of ~lease_guard
    release,
    again,
    // steps of worker::stay_after_all
    leave,
    last_look,
    come_back,
    ended,
  };
  struct body {
    int device = 0;         // the device that the worker tries to drain
    bool saw_work = false;  // in this round, a visited device had work
    int head = 0;           // the head that the step `read` has read
    bool left = false;
    auto operator<=>(body const&) const = default;
  };

  flaw with;
  std::array<places, threads> at{push, absent, absent};
  std::array<body, threads> of{};
  int pushed = 0;
  int head = 0;
  int delivered = 0;  // counts a task twice if it was taken twice
  bool twice = false;
  bool claimed = false;
  bool pending = false;
  std::array<bool, devices> leased{};
  int active = 0;
  int posted = 0;

  explicit shared_queue_model(flaw broken) : with{broken} {}
  auto operator<=>(shared_queue_model const&) const = default;

  bool step(int me) {
    places& pc = at[static_cast<std::size_t>(me)];
    body& mine = of[static_cast<std::size_t>(me)];
    bool const late = with == flaw::clears_late;
    auto const next_device = [&] {
      mine.left = false, mine.head = 0;
      if (++mine.device < devices) { return look; }
      mine.device = 0;
      return std::exchange(mine.saw_work, false) ? look : leave;
    };
    switch (pc) {
      case push: ++pushed, pc = announce; return true;
      case announce: pc = !pending ? exchange : pushed < tasks ? push : ended; return true;
      case exchange:
        pc = !std::exchange(pending, true) ? wake : pushed < tasks ? push : ended;
        return true;
      case wake:
        if (active < max) { ++active, ++posted; }
        pc = me != 0 ? next_device() : pushed < tasks ? push : ended;
        return true;
      case absent:
        if (posted == 0) { return false; }
        --posted, pc = look;
        return true;
      case look:
        mine.saw_work = mine.saw_work || pending;
        pc = pending ? try_lease : next_device();
        return true;
      case try_lease: {
        bool& lease = leased[static_cast<std::size_t>(mine.device)];
        pc = lease ? next_device() : drain;
        lease = true;
        return true;
      }
      case drain: pc = pending ? ask : release; return true;
      case ask: pc = !pending ? release : late ? claim : clear; return true;
      case clear: pending = false, pc = late ? set_pending : claim; return true;
      case claim:
        if (claimed && with != flaw::no_claim) {
          mine.left = with != flaw::forgets_claimed;
          pc = late ? clear : set_pending;
        } else {
          claimed = true, pc = read;
        }
        return true;
      case read: mine.head = head, pc = head < pushed ? pop : see_left; return true;
      case pop:
        // Takes the task at the head that the step `read` has read, even if another consumer has
        // moved the head since then.
        twice = twice || mine.head < head;
        head = mine.head + 1, ++delivered, pc = see_left;
        return true;
      case see_left: mine.left = head < pushed, pc = unclaim; return true;
      case unclaim: claimed = false, pc = late ? clear : set_pending; return true;
      case set_pending:
        pending = pending || mine.left;
        pc = release;
        return true;
      case release: leased[static_cast<std::size_t>(mine.device)] = false, pc = again; return true;
      case again: pc = pending ? wake : next_device(); return true;
      case leave: --active, pc = last_look; return true;
      case last_look: pc = pending ? come_back : absent; return true;
      case come_back:
        pc = active < max ? look : absent;
        active = std::min(active + 1, max);
        return true;
      case ended: return false;
    }
    return false;
  }
  [[nodiscard]] std::string wrong() const { return twice ? "a task was taken twice" : ""; }
  [[nodiscard]] std::string stuck() const {
    if (head < pushed) { return "a task is left, and no thread will take it"; }
    return delivered == tasks && active == 0 && !claimed
               ? ""
               : "the claim or a count is not in its initial state";
  }
};

// requirement
TEST(SharedQueueModel, EachTaskIsTakenOnceAndNoneIsStranded) {
  exploration const found = explore(shared_queue_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 1000u);
}

// requirement: the checker finds each built-in error
TEST(SharedQueueModel, FlawsAreFound) {
  EXPECT_EQ(explore(shared_queue_model{flaw::no_claim}).wrong, "a task was taken twice");
  EXPECT_EQ(explore(shared_queue_model{flaw::forgets_claimed}).wrong,
            "a task is left, and no thread will take it");
  EXPECT_EQ(explore(shared_queue_model{flaw::clears_late}).wrong,
            "a task is left, and no thread will take it");
}

}  // namespace
}  // namespace flotilla::test
