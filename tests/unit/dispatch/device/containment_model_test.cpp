// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A device is lost while two batches of one lane are in flight: the first task may have run, and
// fails; the second has not begun, and runs again. Threads ask for the ends of both meanwhile.
// Checks every interleaving: no thread takes the first task for one that has ended well unless it
// has, or the second task for one that has ended before it has run. The model follows the steps of
// containment::finish, task_query::has_ended, and dependencies::look.

#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <string>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw : signed char {
  none,
  raises_before_failing,        // raises the number before the first task has failed
  raises_before_taking_back,    // raises the number before the mark of the second task is gone
  fails_after_generation,       // stores the failure after the generation has changed
  keeps_old_worker,             // does not wait for the death of the old worker process
  believes_old_mark,            // has_ended does not read the mark again
  believes_old_mark_in_look,    // look does not read the mark again
  looks_at_generation_too_soon  // look reads the generation before the number
};

struct loss_model {
  static constexpr int moves = 5;  // the thread with the lease, the device, its death, two askers
  static constexpr int first = 0, second = 1;
  static constexpr int lane_end = 2, new_number = 3;
  enum class owner_steps : signed char {
    replace,
    judge,
    fail,
    end_first,
    take_back,
    raise,
    launch,
    retire,
    over
  };
  enum class asker_steps : signed char {
    generation,
    mark,
    number,
    mark_again,
    last_look,
    look,
    look_mark,
    look_number,
    look_generation,
    look_mark_again,
    find_failure,
    done
  };
  struct task {
    int mark;
    bool has_ended = false;  // whether its generation has changed
    bool has_failure = false;
    int runs = 0;
    auto operator<=>(task const&) const = default;
  };
  struct asker {
    asker_steps step = asker_steps::generation;
    int mark = 0;
    bool is_reached = false;
    auto operator<=>(asker const&) const = default;
  };

  flaw with;
  owner_steps owner = owner_steps::replace;
  task tasks[2] = {{1}, {2}};
  asker askers[2] = {};
  int reached = 0;       // the lane's number
  bool is_dead = false;  // the old worker process
  bool first_succeeded = false;
  int old_step = 0;  // of the old worker: runs 1, writes 1, runs 2, writes 2
  int new_step = 0;  // of its successor: runs the second task, writes its number
  bool is_raised = false;
  std::string error{};

  bool only_look;  // whether the askers are successors, which call only `look`, until it says ended

  loss_model(flaw broken, bool successors) : with{broken}, only_look{successors} {
    if (only_look) { askers[0].step = askers[1].step = asker_steps::look; }
  }
  auto operator<=>(loss_model const&) const = default;

  bool step(int mover) {
    switch (mover) {
      case 0: return step_owner();
      case 1: return step_device();
      case 2: return !is_dead && (is_dead = true);
      default: return step_asker(mover - 3);
    }
  }

  void raise_lane() {
    reached = std::max(reached, lane_end);
    is_raised = true;
  }

  bool step_owner() {
    using enum owner_steps;
    switch (owner) {
      case replace:
        if (!is_dead && with != flaw::keeps_old_worker) { return false; }
        owner = judge;
        return true;
      case judge:
        first_succeeded = reached >= 1;
        if (reached >= 2) { owner = over; }  // nothing is left to do
        if (owner == over) { return true; }
        if (with == flaw::raises_before_failing || with == flaw::raises_before_taking_back) {
          if (with == flaw::raises_before_failing) { tasks[second].mark = 0; }
          if (with == flaw::raises_before_taking_back && !first_succeeded) {
            tasks[first].has_failure = tasks[first].has_ended = true;
          }
          raise_lane();
        }
        owner = fail;
        return true;
      case fail:
        if (!first_succeeded) {
          (with == flaw::fails_after_generation ? tasks[first].has_ended
                                                : tasks[first].has_failure) = true;
        }
        owner = end_first;
        return true;
      case end_first:
        tasks[first].has_ended = true;
        if (!first_succeeded) { tasks[first].has_failure = true; }
        owner = take_back;
        return true;
      case take_back:
        // If the first task has ended, the second may have run, and fails.
        tasks[second].mark = 0;
        if (first_succeeded) { tasks[second].has_failure = tasks[second].has_ended = true; }
        owner = raise_step();
        return true;
      case owner_steps::raise:
        raise_lane();
        owner = first_succeeded ? over : launch;
        return true;
      case launch:
        tasks[second].mark = new_number;
        new_step = 1;
        owner = retire;
        return true;
      case retire:
        if (reached < new_number) { return false; }
        tasks[second].has_ended = true;
        owner = over;
        return true;
      case over: return false;
    }
    return false;
  }
  [[nodiscard]] owner_steps raise_step() const {
    if (!is_raised) { return owner_steps::raise; }
    return first_succeeded ? owner_steps::over : owner_steps::launch;
  }

  bool step_device() {
    if (!is_dead && old_step < 4) {
      ++old_step;
      if (old_step % 2 == 1) {
        note_run(old_step == 1 ? first : second);
      } else {
        reached = std::max(reached, old_step / 2);
      }
      return true;
    }
    if (new_step == 1) {
      note_run(second);
      new_step = 2;
      return true;
    }
    if (new_step == 2) {
      reached = std::max(reached, new_number);
      new_step = 3;
      return true;
    }
    return false;
  }
  void note_run(int which) {
    if (++tasks[which].runs > 1) { error = "a task has run twice"; }
  }

  /// Notes the answer of a thread: whether it says that the task has failed.
  void answer(int which, bool has_failed) {
    if (which == first && !has_failed && old_step / 2 < 1) {
      error = "a task that may have run in part has ended well";
    }
    if (which == second && has_failed && !first_succeeded) {
      error = "a task that runs again has failed";
    }
    if (which == second && !has_failed && tasks[second].runs == 0) {
      error = "a task has ended before it has run";
    }
  }

  bool step_asker(int which) {
    using enum asker_steps;
    asker& one = askers[which];
    task const& of = tasks[which];
    switch (one.step) {
      case generation: one.step = of.has_ended ? look : mark; return true;
      case mark:
        one.mark = of.mark;
        one.step = one.mark == 0 ? last_look : number;
        return true;
      case number:
        one.step = reached < one.mark                ? last_look
                   : with == flaw::believes_old_mark ? look
                                                     : mark_again;
        return true;
      case mark_again: one.step = of.mark == one.mark ? look : last_look; return true;
      case last_look: one.step = of.has_ended ? look : generation; return true;
      case look: one.step = of.has_ended ? find_failure : look_mark; return true;
      case look_mark:
        one.mark = of.mark;
        one.step = with == flaw::looks_at_generation_too_soon ? look_generation : look_number;
        return true;
      case look_number:
        one.is_reached = one.mark != 0 && reached >= one.mark;
        one.step = look_generation;
        if (with == flaw::looks_at_generation_too_soon) { decide(which); }
        return true;
      case look_generation:
        if (of.has_ended) {
          one.step = find_failure;
        } else if (with == flaw::looks_at_generation_too_soon) {
          one.step = look_number;
        } else {
          decide(which);
        }
        return true;
      case look_mark_again:
        if (of.mark == one.mark) { answer(which, false); }
        one.step = of.mark == one.mark ? done : look;
        return true;
      case find_failure:
        answer(which, of.has_failure);
        one.step = done;
        return true;
      case done: return false;
    }
    return false;
  }
  void decide(int which) {
    using enum asker_steps;
    asker& one = askers[which];
    if (!one.is_reached) {
      if (!only_look) { error = "a task that has ended is open again"; }
      one.step = only_look ? look : done;
    } else if (with == flaw::believes_old_mark_in_look) {
      answer(which, false);
      one.step = done;
    } else {
      one.step = look_mark_again;
    }
  }

  [[nodiscard]] std::string wrong() const { return error; }
  [[nodiscard]] std::string stuck() const {
    bool const all_done =
        askers[0].step == asker_steps::done && askers[1].step == asker_steps::done;
    return all_done ? "" : "a thread waits forever";
  }
};

// requirement
TEST(ContainmentModel, NoThreadIsDeceivedAboutTheEndOfATask) {
  for (bool const successors : {false, true}) {
    exploration const found = explore(loss_model{flaw::none, successors});
    EXPECT_EQ(found.wrong, "") << found;
    EXPECT_GT(found.states, 1000u);
  }
}

// requirement: the checker finds each built-in error
TEST(ContainmentModelFlaws, AreFound) {
  for (flaw const each :
       {flaw::raises_before_failing, flaw::raises_before_taking_back, flaw::fails_after_generation,
        flaw::keeps_old_worker, flaw::believes_old_mark, flaw::believes_old_mark_in_look,
        flaw::looks_at_generation_too_soon}) {
    std::string const seen = explore(loss_model{each, false}).wrong;
    EXPECT_NE(seen + explore(loss_model{each, true}).wrong, "") << static_cast<int>(each);
  }
}

}  // namespace
}  // namespace flotilla::test
