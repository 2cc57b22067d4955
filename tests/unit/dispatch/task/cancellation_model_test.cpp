// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Two threads cancel a task while a third thread launches it, gives up a launch, ends the task and
// uses its slot for another task. Checks every interleaving: what a canceller was told must be what
// happens, and the next task of the slot is not cancelled. The model follows the steps of
// request_cancel, begin_launch, is_cancelled and give_up_launch, and of task_end::end and encode.

#include <gtest/gtest.h>

#include <array>
#include <compare>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw : signed char {
  none,
  announces_late,  // the launcher reads the request before it announces the launch
  never_decides,   // a canceller that finds no launch leaves the request undecided
  withdraws_never,  // a canceller that finds a launch claims that the task runs, and withdraws nothing
  answers_early,  // a canceller that finds a launch does not store that no request may follow
  no_generation,  // a canceller changes the word of another generation
};

struct cancel_model {
  static constexpr int threads = 3;  // thread 0 launches, threads 1 and 2 cancel
  static constexpr int moves = threads;
  static constexpr signed char first_task = 1, gone = 2, next_task = 3;  // generations
  enum states : signed char { none, requested, cancelled, withdrawn };
  enum places : signed char {
    // thread 0
    begin,
    look,
    decide,
    launch,
    end_cancelled,
    end,
    reset,
    open_next,
    // threads 1 and 2
    read,
    read_starting,
    change,
    answered,
    finished
  };
  enum answers : signed char { no_answer, will_not_run, runs, has_ended };
  struct word {
    signed char generation = first_task;
    states state = none;
    auto operator<=>(word const&) const = default;
  };
  struct canceller {
    word seen{};
    bool starting = false;
    answers answer = no_answer;
    auto operator<=>(canceller const&) const = default;
  };

  flaw with;
  signed char launches_to_give_up;
  bool replay;  // the task counts as launched from its submit on
  std::array<places, threads> at{begin, read, read};
  word now{};
  bool starting = false;
  word seen{};  // by thread 0
  std::array<canceller, threads> cancellers{};
  bool ran = false, was_cancelled = false;

  cancel_model(flaw broken, int give_up, bool is_replay = false)
      : with{broken}, launches_to_give_up{static_cast<signed char>(give_up)}, replay{is_replay} {
    starting = replay;
    at[0] = with == flaw::announces_late ? look : begin;
  }
  auto operator<=>(cancel_model const&) const = default;

  bool step(int me) {
    std::size_t const i = static_cast<std::size_t>(me);
    return me == 0 ? drive(at[0]) : cancel(at[i], cancellers[i]);
  }
  bool drive(places& pc) {
    bool const late = with == flaw::announces_late;
    switch (pc) {
      case begin: starting = true, pc = late ? launch : look; return true;
      case look: seen = now, pc = decide; return true;
      case decide:
        if (seen.state == requested && now != seen) {
          pc = look;  // another thread has decided
        } else if (seen.state == requested || seen.state == cancelled) {
          now.state = cancelled, pc = end_cancelled;
        } else {
          pc = late ? begin : launch;
        }
        seen = {};
        return true;
      case launch:
        if (launches_to_give_up > 0) {
          --launches_to_give_up;
          starting = false, pc = late ? look : begin;
          return true;
        }
        ran = true, pc = end;
        return true;
      case end_cancelled: was_cancelled = true, pc = end; return true;
      case end: now = {gone, none}, pc = reset; return true;
      case reset: starting = false, pc = open_next; return true;
      case open_next: now = {next_task, none}, pc = finished; return true;
      default: return false;
    }
  }
  bool cancel(places& pc, canceller& mine) {
    auto const answer = [&](answers what) { mine = {{}, false, what}, pc = answered; };
    switch (pc) {
      case read: mine.seen = now, pc = read_starting; return examine(pc, mine);
      case read_starting:
        mine.starting = starting;
        if (mine.seen.state == none && mine.starting && with == flaw::answers_early) {
          answer(runs);
        } else if (mine.seen.state == requested && !mine.starting && with == flaw::never_decides) {
          answer(will_not_run);
        } else if (mine.seen.state == requested && mine.starting && with == flaw::withdraws_never) {
          answer(runs);
        } else {
          pc = change;
        }
        return true;
      case change: {
        bool const same =
            with == flaw::no_generation ? now.state == mine.seen.state : now == mine.seen;
        if (same) {
          now.state = mine.starting ? withdrawn : mine.seen.state == none ? requested : cancelled;
        }
        mine.seen = now, mine.starting = false, pc = read_starting;
        return examine(pc, mine);
      }
      default: return false;
    }
  }
  /// Answers if the word that the canceller has seen is decided.
  bool examine(places& pc, canceller& mine) {
    answers const known = mine.seen.generation != first_task && with != flaw::no_generation
                              ? has_ended
                          : mine.seen.state == cancelled ? will_not_run
                          : mine.seen.state == withdrawn ? runs
                                                         : no_answer;
    if (known != no_answer) { mine = {{}, false, known}, pc = answered; }
    return true;
  }

  [[nodiscard]] std::string wrong() const {
    if (now.generation == next_task && now.state != none) { return "the next task was cancelled"; }
    if (replay && was_cancelled) { return "a replay was cancelled"; }
    for (canceller const& each : cancellers) {
      if (each.answer == will_not_run && ran) { return "a cancelled task ran"; }
      if (each.answer == runs && was_cancelled) { return "a task did not run, but was said to"; }
    }
    return "";
  }
  [[nodiscard]] std::string stuck() const {
    return at == std::array{finished, answered, answered} && ran != was_cancelled
               ? ""
               : "a thread or the task is stuck";
  }
};

// requirement
TEST(CancellationModel, AnswersAreTrue) {
  for (int give_up : {0, 1, 2}) {
    exploration const found = explore(cancel_model{flaw::none, give_up});
    EXPECT_EQ(found.wrong, "") << found;
    EXPECT_GT(found.states, 100u);
  }
  exploration const replayed = explore(cancel_model{flaw::none, 0, true});
  EXPECT_EQ(replayed.wrong, "") << replayed;
}

// requirement: the checker finds each built-in error
TEST(CancellationModel, FlawsAreFound) {
  EXPECT_EQ(explore(cancel_model{flaw::announces_late, 0}).wrong, "a cancelled task ran");
  EXPECT_EQ(explore(cancel_model{flaw::never_decides, 0}).wrong, "a cancelled task ran");
  EXPECT_EQ(explore(cancel_model{flaw::withdraws_never, 0}).wrong,
            "a task did not run, but was said to");
  EXPECT_EQ(explore(cancel_model{flaw::answers_early, 0}).wrong,
            "a task did not run, but was said to");
  EXPECT_EQ(explore(cancel_model{flaw::no_generation, 0}).wrong, "the next task was cancelled");
}

}  // namespace
}  // namespace flotilla::test
