// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A callable begins while the watcher of the stand-ins goes to sleep. Checks every interleaving:
// while the callable runs, the watcher must not stay asleep. The model follows the steps of
// callable_runner::call, stand_ins::note_callable and stand_ins::watch.

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

// requirement: the checker finds each built-in error
TEST(StandInModelFlaws, AreFound) {
  for (flaw const each : {flaw::no_second_look, flaw::looks_first, flaw::no_notify}) {
    EXPECT_EQ(explore(stand_in_model{each}).wrong, "the watcher sleeps while a callable runs")
        << static_cast<int>(each);
  }
}

}  // namespace
}  // namespace flotilla::test
