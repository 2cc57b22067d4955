// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Two tasks park on a predecessor. Meanwhile another thread batches, launches and ends the
// predecessor, and uses its slot for another task. Checks every interleaving. Each dependent task
// must continue, and must use the state of its predecessor, not of the other task. The model
// follows the steps of look, park, take_successors, resume_batched and mark_launched in
// `dependencies`, and of task_end::end and open_slot.
//
// States of the predecessor, and the functions that change them (thread 0 drives its device):
//
//   open --resume_batched--> batched --mark_launched--> launched --end--> ended --open_slot--> next
//     `-------------------------------- it fails: end ---------------------^
//
// States of slot::successors, the list of the tasks that are parked on the predecessor:
//
//          --park------------->         --mark_launched, end, or take_list of a dependent--->
//    empty                       tasks                                                       closed
//      ^   <--resume_batched---                                                                |
//      `----------------------------- open_slot, for the next generation ----------------------'
//
// `end` does not look at the list of a predecessor without the flag `followed`, which park sets
// before it adds a task.
//
// The steps of a dependent task (threads 1 and 2):
//
//   look --open--> follow --> read_list --> link --> exchange --> confirm --still open--> parked
//     |              |                       |          |            `--launched or ended-->
//     |              |                       |          |                         take_list, parked
//     |              |                       |          `--list has changed--> link
//     |              `--ended--> look        `--closed, or of another generation--> look
//     `--end mark set, or generation changed--> finished                parked --requeued--> look

#include <array>
#include <compare>
#include <string>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {

/// Thread 0 holds the lease of the predecessor's device. Thread 0 batches, launches and ends the
/// predecessor, or fails it. Then it submits and launches another task in the same slot. Threads 1
/// and 2 have one dependent task each. The task of thread 1 is on the predecessor's device, so it
/// can join the predecessor's batch. The task of thread 2 is on another device.
struct park_model {
  /// An error that can be built into the model. The checker must find every such error.
  enum class flaw : signed char {
    none,
    no_generation,   // park does not check that the list belongs to the predecessor
    no_confirm,      // park does not check the predecessor again after it has added the task
    fails_late,      // end changes the generation before it puts the failure into the table
    looks_once,      // look reads the end mark, and does not check the generation again
    keeps_batched,   // resume_batched requeues the parked tasks but leaves them in the list
    forgets_others,  // resume_batched does not put tasks of other devices back into the list
    follows_late,    // park sets the flag `followed` after it has added the task
    never_follows,   // park does not set the flag
  };
  enum class story : signed char { ends_well, runs_long, fails_unlaunched };

  static constexpr int threads = 3;
  static constexpr int moves = threads;
  static constexpr int none = -1, closed = -2;
  static constexpr int same_device = 1, other_device = 2;
  // Generations: of the open predecessor, after its end, of the other task. Also the end marks.
  static constexpr int ahead = 1, gone = 2, next_task = 3;
  enum places : signed char {
    // steps of thread 0: resume_batched, mark_launched, task_end::end, open_slot
    find_follower,
    take_batched,
    release_batched,
    read_to_put_back,
    put_back,
    set_mark,
    look_for_parked,
    close_launched,
    release_launched,
    put_failure,
    move_generation,
    close_ended,
    release_ended,
    reset_mark,
    reset_list,
    open_next,
    launch_next,
    finished,
    // steps of threads 1 and 2: look, park
    look,
    read_mark,
    look_again,
    ask_failures,
    follow,
    read_list,
    link,
    exchange,
    follow_late,
    confirm_generation,
    confirm_mark,
    confirm_again,
    take_list,
    release_taken,
    parked
  };
  struct list {
    int generation = ahead;
    int head = none;
    auto operator<=>(list const&) const = default;
  };
  struct dependent {
    list seen{};
    int next = none;
    int mark = 0;
    int found = 0;  // 0: nothing; `ahead`, `next_task`: an end mark; `gone`: the end; -1: a failure
    bool requeued = false;
    auto operator<=>(dependent const&) const = default;
  };

  story what;
  flaw with;
  std::array<places, threads> at{find_follower, look, look};
  std::array<dependent, threads> tasks{};  // thread 0 uses only the member `seen`
  int generation = ahead;
  bool followed = false;  // in the same word as `generation`
  int end = 0;
  list successors{};
  bool failure_known = false;
  std::array<int, threads> walk{none, none, none};  // the task that each thread requeues next
  bool wrong_list = false, twice = false;

  park_model(story which, flaw broken) : what{which}, with{broken} {
    if (what == story::fails_unlaunched) { at[0] = first_of_end(); }
  }
  auto operator<=>(park_model const&) const = default;
  [[nodiscard]] places after_launch() const {
    return what == story::runs_long ? finished : first_of_end();
  }
  [[nodiscard]] places first_of_end() const {
    return what == story::fails_unlaunched && with != flaw::fails_late ? put_failure
                                                                       : move_generation;
  }

  bool step(int me) {
    std::size_t const i = static_cast<std::size_t>(me);
    return me == 0 ? drive(at[0]) : depend(me, at[i], tasks[i]);
  }
  bool drive(places& pc) {
    switch (pc) {
      case find_follower: pc = has_follower() ? take_batched : set_mark; return true;
      case take_batched:
        // Tasks that are parked after this step are requeued when the batch is launched.
        walk[0] = successors.head;
        if (with != flaw::keeps_batched) { successors.head = none; }
        pc = release_batched;
        return true;
      case release_batched:
        if (walk[0] == other_device) {
          walk[0] = tasks[other_device].next;
          if (with != flaw::forgets_others) { pc = read_to_put_back; }
        } else {
          pc = released(0) ? set_mark : pc;
        }
        return true;
      // Unlike in `park`, no check is needed: only this thread can launch or end the predecessor.
      case read_to_put_back: tasks[0].seen = successors, pc = put_back; return true;
      case put_back:
        if (successors == tasks[0].seen) {
          tasks[other_device].next = successors.head;
          successors.head = other_device;
          tasks[0].seen = {}, pc = release_batched;
        } else {
          tasks[0].seen = successors;
        }
        return true;
      case set_mark: end = ahead, pc = look_for_parked; return true;
      case look_for_parked:
        pc = successors.head == none ? after_launch() : close_launched;
        return true;
      case close_launched: close(0, ahead), pc = release_launched; return true;
      case release_launched: pc = released(0) ? after_launch() : pc; return true;
      case put_failure:
        failure_known = true, pc = with == flaw::fails_late ? close_ended : move_generation;
        return true;
      case move_generation:
        generation = gone;
        if (what == story::fails_unlaunched && with == flaw::fails_late) {
          pc = put_failure;
        } else {
          pc = followed ? close_ended : reset_mark;
        }
        return true;
      case close_ended: close(0, ahead), pc = release_ended; return true;
      case release_ended: pc = released(0) ? reset_mark : pc; return true;
      case reset_mark: end = 0, pc = reset_list; return true;
      case reset_list: successors = {next_task, none}, pc = open_next; return true;
      case open_next: generation = next_task, followed = false, pc = launch_next; return true;
      case launch_next: end = next_task, pc = finished; return true;
      default: return false;
    }
  }
  [[nodiscard]] bool has_follower() const {
    int next = successors.head;
    while (next > 0 && next != same_device) { next = tasks[static_cast<std::size_t>(next)].next; }
    return next == same_device;
  }
  /// Takes the list and closes it, if it is open and belongs to the generation `of_generation`.
  void close(std::size_t me, int of_generation) {
    if (successors.generation != of_generation || successors.head == closed) { return; }
    walk[me] = successors.head;
    successors.head = closed;
  }
  /// Requeues the next task of the list that this thread took. @return true if there was none.
  bool released(std::size_t me) {
    if (walk[me] < 0) { return true; }
    dependent& task = tasks[static_cast<std::size_t>(walk[me])];
    walk[me] = task.next;
    twice = twice || task.requeued;
    task.requeued = true;
    return false;
  }

  bool depend(int me, places& pc, dependent& mine) {
    auto const finds = [&](int found) { mine.found = found, pc = finished; };
    switch (pc) {
      case look: pc = generation == ahead ? read_mark : ask_failures; return true;
      case read_mark: mine.mark = end, pc = look_again; return true;
      case look_again:
        if (generation != ahead && with != flaw::looks_once) {
          pc = ask_failures;
        } else if (mine.mark != 0) {
          finds(mine.mark);
        } else {
          pc = with == flaw::follows_late || with == flaw::never_follows ? read_list : follow;
        }
        mine.mark = 0;
        return true;
      case ask_failures: finds(failure_known ? -1 : gone); return true;
      case follow:
        followed = followed || generation == ahead;
        pc = generation == ahead ? read_list : look;
        return true;
      case read_list: mine.seen = successors, pc = link; return true;
      case link:
        if ((mine.seen.generation == ahead || with == flaw::no_generation) &&
            mine.seen.head != closed) {
          mine.next = mine.seen.head, pc = exchange;
        } else {
          mine.seen = {}, pc = look;
        }
        return true;
      case exchange:
        if (successors != mine.seen) {
          mine.seen = successors, pc = link;
          return true;
        }
        successors.head = me;
        wrong_list = wrong_list || successors.generation != ahead;
        mine.seen = {};
        if (with == flaw::follows_late) {
          pc = follow_late;
        } else {
          pc = with == flaw::no_confirm ? parked : confirm_generation;
        }
        return true;
      case follow_late:
        followed = followed || generation == ahead;
        pc = confirm_generation;
        return true;
      case confirm_generation: pc = generation == ahead ? confirm_mark : take_list; return true;
      case confirm_mark: mine.mark = end, pc = confirm_again; return true;
      case confirm_again:
        pc = generation == ahead && mine.mark == 0 ? parked : take_list;
        mine.mark = 0;
        return true;
      case take_list: close(static_cast<std::size_t>(me), ahead), pc = release_taken; return true;
      case release_taken: pc = released(static_cast<std::size_t>(me)) ? parked : pc; return true;
      case parked:
        if (!mine.requeued) { return false; }
        mine.requeued = false, pc = look;
        return true;
      default: return false;
    }
  }

  [[nodiscard]] std::string wrong() const {
    if (wrong_list) { return "a task was parked on another task of the slot"; }
    if (twice) { return "requeued twice"; }
    for (dependent const& task : tasks) {
      if (task.found == next_task) { return "a task used the end mark of another task"; }
      if (task.found == gone && what == story::fails_unlaunched) {
        return "a task treated its failed predecessor as successful";
      }
    }
    return "";
  }
  [[nodiscard]] std::string stuck() const {
    return at == std::array{finished, finished, finished} ? "" : "a task is parked forever";
  }
};

}  // namespace flotilla::test
