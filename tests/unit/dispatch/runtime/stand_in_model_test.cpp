// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A callable begins, or work is announced while oneTBB begins no worker, and the watcher of the
// stand-ins goes to sleep. Checks every interleaving: while the callable runs, the watcher must not
// stay asleep, and the work must be done. The models follow the steps of callable_runner::call,
// worker_pool::wake, and stand_ins::note_callable, ring, watch and serve.

#include <gtest/gtest.h>

#include <compare>
#include <string>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw : signed char {
  none,
  no_second_look,  // the watcher does not look for callables after it has cleared `watching`
  looks_first,     // the callable reads `watching` before it stores its time
  no_notify,       // the callable sets `watching`, but the watcher already waits without looking
};

struct stand_in_model {
  static constexpr int moves = 2;
  enum callables : signed char { store, read, lock, after, running };
  enum watchers : signed char { look, clear, look_again, asleep, deaf, watches };

  flaw with;
  callables callable{with == flaw::looks_first ? read : store};
  watchers watcher{look};
  bool has_time = false;  // running_since_ of the device
  bool watching = true;

  explicit stand_in_model(flaw broken) : with{broken} {}
  auto operator<=>(stand_in_model const&) const = default;

  bool step(int thread) { return thread == 0 ? step_callable() : step_watcher(); }

  bool step_callable() {
    switch (callable) {
      case store:
        has_time = true;
        callable = with == flaw::looks_first ? after : read;
        return true;
      case read: callable = watching ? after : lock; return true;
      case lock:
        if (watcher == clear || watcher == look_again) { return false; }  // has the mutex
        watching = true;
        callable = after;
        return true;
      case after: callable = has_time ? running : store; return true;
      case running: return false;
    }
    return false;
  }
  bool step_watcher() {
    switch (watcher) {
      case look: watcher = has_time ? watches : clear; return true;
      case clear:
        watching = false;
        watcher = with == flaw::no_second_look ? asleep : look_again;
        return true;
      case look_again:
        if (has_time) {
          watching = true;
          watcher = look;
        } else {
          watcher = with == flaw::no_notify ? deaf : asleep;
        }
        return true;
      case asleep:
        if (!watching) { return false; }
        watcher = look;
        return true;
      case deaf:
      case watches: return false;
    }
    return false;
  }
  [[nodiscard]] static std::string wrong() { return ""; }
  [[nodiscard]] std::string stuck() const {
    return watcher != watches ? "the watcher sleeps while a callable runs" : "";
  }
};

// requirement
TEST(StandInModel, WatcherWatchesWhileACallableRuns) {
  exploration const found = explore(stand_in_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
}

/// An error that can be built into `starving_model`.
enum class starving_flaw : signed char {
  none,
  no_second_look,    // the watcher does not look for work after it has cleared `watching`
  rings_first,       // the thread rings before it announces the work
  silent_if_active,  // the thread does not ring if it has requested no worker
  leaves_unchecked,  // a stand-in does not look for work after it has become inactive
  counts_requested,  // the watcher counts workers that were requested as workers that run
};

/// Work is announced while oneTBB begins no worker. Thread 0 announces work twice. Thread 1 is the
/// watcher, thread 2 is the stand-in, thread 3 takes work once, as a thread that waits does.
struct starving_model {
  static constexpr int moves = 4;
  enum callers : signed char { announce, request, ring, read_watching, set_watching, done };
  enum watchers : signed char { look, clear, look_again, asleep };
  enum stand_ins : signed char { idle, enter, take, leave, check };
  enum helpers : signed char { helps, helped };

  starving_flaw with;
  callers caller{with == starving_flaw::rings_first ? request : announce};
  watchers watcher{look};
  stand_ins stand_in{idle};
  helpers helper{helps};
  int announced = 0;  // calls of `announce`
  bool work = false;
  bool watching = true;
  bool starving = false;
  signed char active = 0;     // max is 1
  signed char requested = 0;  // oneTBB begins none of them

  explicit starving_model(starving_flaw broken) : with{broken} {}
  auto operator<=>(starving_model const&) const = default;

  [[nodiscard]] bool is_without_worker() const {
    return active - (with == starving_flaw::counts_requested ? 0 : requested) <= 0;
  }
  void call_stand_in() {
    if (stand_in == idle) { stand_in = enter; }
  }
  bool step(int thread) {
    switch (thread) {
      case 0: return step_caller();
      case 1: return step_watcher();
      case 2: return step_stand_in();
      default:
        if (helper == helped || !work) { return false; }
        work = false;
        helper = helped;
        return true;
    }
  }
  [[nodiscard]] callers next_call() const {
    if (announced == 2) { return done; }
    return with == starving_flaw::rings_first ? request : announce;
  }
  void end_call() { caller = with == starving_flaw::rings_first ? announce : next_call(); }
  bool step_caller() {
    switch (caller) {
      case announce:
        work = true;
        ++announced;
        caller = with == starving_flaw::rings_first ? next_call() : request;
        return true;
      case request:
        if (active >= 1 && with == starving_flaw::silent_if_active) {
          end_call();
          return true;
        }
        if (active < 1) { ++active, ++requested; }
        caller = ring;
        return true;
      case ring:
        if (starving) {
          if (is_without_worker()) { call_stand_in(); }
          end_call();
        } else if (requested != 0) {
          caller = read_watching;
        } else {
          end_call();
        }
        return true;
      case read_watching:
        if (watching) {
          end_call();
        } else {
          caller = set_watching;
        }
        return true;
      case set_watching:
        if (watcher == clear || watcher == look_again) { return false; }  // has the mutex
        watching = true;
        end_call();
        return true;
      case done: return false;
    }
    return false;
  }
  bool look_for_work() {
    if (!work || !is_without_worker()) { return false; }
    starving = true;  // after some time
    call_stand_in();
    return true;
  }
  bool step_watcher() {
    switch (watcher) {
      case look: watcher = look_for_work() ? look : clear; return true;
      case clear:
        watching = false;
        watcher = with == starving_flaw::no_second_look ? asleep : look_again;
        return true;
      case look_again:
        if (look_for_work()) {
          watching = true;
          watcher = look;
        } else {
          watcher = asleep;
        }
        return true;
      case asleep:
        if (!watching) { return false; }
        watcher = look;
        return true;
    }
    return false;
  }
  bool step_stand_in() {
    switch (stand_in) {
      case idle: return false;
      case enter:
        ++active;
        stand_in = take;
        return true;
      case take:
        work = false;
        stand_in = leave;
        return true;
      case leave:
        --active;
        stand_in = with == starving_flaw::leaves_unchecked ? idle : check;
        return true;
      case check:
        if (work) { ++active; }
        stand_in = work ? take : idle;
        return true;
    }
    return false;
  }
  [[nodiscard]] static std::string wrong() { return ""; }
  [[nodiscard]] std::string stuck() const { return work ? "work waits, and nobody does it" : ""; }
};

// requirement
TEST(StarvingModel, WorkIsDoneAlthoughOneTbbBeginsNoWorker) {
  exploration const found = explore(starving_model{starving_flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 100u);
}

// requirement: the checker finds each built-in error
TEST(StarvingModel, FlawsAreFound) {
  for (starving_flaw const each :
       {starving_flaw::no_second_look, starving_flaw::rings_first, starving_flaw::silent_if_active,
        starving_flaw::leaves_unchecked, starving_flaw::counts_requested}) {
    EXPECT_EQ(explore(starving_model{each}).wrong, "work waits, and nobody does it")
        << static_cast<int>(each);
  }
}

// requirement: the checker finds each built-in error
TEST(StandInModelFlaws, AreFound) {
  for (flaw const each : {flaw::no_second_look, flaw::looks_first, flaw::no_notify}) {
    EXPECT_EQ(explore(stand_in_model{each}).wrong, "the watcher sleeps while a callable runs")
        << static_cast<int>(each);
  }
}

}  // namespace
}  // namespace flotilla::test
