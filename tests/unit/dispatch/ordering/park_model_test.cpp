// Every interleaving of parking on a task with its staging, its launch, its end, and the reuse of its
// slot: whoever depends on it goes on, and by what it did, not by what the slot's next task does.
// Follows core::look, park, resume_successors, launched and end step by step.

#include <gtest/gtest.h>

#include <array>
#include <compare>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// How the model differs from the code, so that the checker has something to find.
enum class flaw : signed char {
  none,
  no_generation,  // park does not ask whose list it is
  no_second_look, // who has parked does not look whether the task ahead has moved on meanwhile
  fails_late,     // the generation moves before the failure is in the table
  looks_once,     // look does not ask again whose mark it has read
  keeps_staged,   // staging releases what is parked and leaves it in the list
  forgets_others, // staging takes those of other devices from the list, too, and does not put them back
};

enum class story : signed char { ends_well, runs_long, fails_unlaunched };

/// Thread 0 has the lease of the device of the task ahead: stages, launches and ends it, or fails it,
/// and then submits and launches the next task in that slot. Threads 1 and 2 have tasks that run after
/// the one ahead: 1 on the same device (it is followed as soon as it is staged), 2 on another.
struct park_model {
  static constexpr int threads = 3;
  static constexpr int moves = threads;
  static constexpr int none = -1;
  static constexpr int closed = -2;
  static constexpr int same_device = 1;
  static constexpr int other_device = 2;
  // Generations of the slot: of the task ahead, after its end, of the next task; marks are the same
  // numbers.
  static constexpr int ahead = 1;
  static constexpr int gone = 2;
  static constexpr int next_task = 3;

  enum places : signed char {
    // thread 0
    take_staged, release_staged, put_back, set_mark, look_for_parked, close_launched, release_launched,
    put_failure, move_generation, close_ended,
    release_ended, reset_mark, reset_list, open_next, launch_next, finished,
    // threads 1 and 2
    look, read_mark, look_again, ask_failures, read_list, link, exchange, generation_moved, launched,
    take_list, release_taken, parked,
  };
  struct list {
    int generation = ahead;
    int head = none;
    auto operator<=>(list const&) const = default;
  };
  /// What a dependent found: 0 nothing yet, `ahead` or `next_task` a mark, `gone` an end, -1 a
  /// failure.
  struct dependent {
    list seen{};
    int next = none;
    int mark = 0;
    int found = 0;
    bool requeued = false;
    auto operator<=>(dependent const&) const = default;
  };

  story what;
  flaw with;
  std::array<places, threads> at{take_staged, look, look};
  std::array<dependent, threads> of{};
  int generation = ahead;
  int end = 0;
  list parked_on_it{};
  bool failure_known = false;
  std::array<int, threads> walk{none, none, none};  // whom each thread is to release next
  bool wrong_list = false;
  bool twice = false;

  park_model(story of_it, flaw which) : what{of_it}, with{which} {
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
    return me == 0 ? drive(at[0])
                   : depend(me, at[static_cast<std::size_t>(me)], of[static_cast<std::size_t>(me)]);
  }

  bool drive(places& pc) {
    switch (pc) {
      case take_staged:
        // What comes later parks in the list that is left, and is released by the launch.
        pc = set_mark;
        if (!has_follower()) { return true; }
        walk[0] = parked_on_it.head;
        if (with != flaw::keeps_staged) { parked_on_it.head = none; }
        pc = release_staged;
        return true;
      case release_staged:
        if (walk[0] == other_device) {
          walk[0] = of[other_device].next;
          of[0].seen = parked_on_it;
          if (with != flaw::forgets_others) { pc = put_back; }
        } else {
          pc = released(0) ? set_mark : pc;
        }
        return true;
      case put_back:
        if (parked_on_it == of[0].seen) {
          of[other_device].next = of[0].seen.head;
          parked_on_it.head = other_device;
          of[0].seen = {};
          pc = release_staged;
        } else {
          of[0].seen = parked_on_it;
        }
        return true;
      case set_mark: end = ahead, pc = look_for_parked; return true;
      case look_for_parked:
        pc = parked_on_it.head == none ? after_launch() : close_launched;
        return true;
      case close_launched: close(0, ahead), pc = release_launched; return true;
      case release_launched: pc = released(0) ? after_launch() : pc; return true;
      case put_failure:
        failure_known = true, pc = with == flaw::fails_late ? close_ended : move_generation;
        return true;
      case move_generation:
        generation = gone;
        pc =
            what == story::fails_unlaunched && with == flaw::fails_late ? put_failure : close_ended;
        return true;
      case close_ended: close(0, ahead), pc = release_ended; return true;
      case release_ended: pc = released(0) ? reset_mark : pc; return true;
      case reset_mark: end = 0, pc = reset_list; return true;
      case reset_list: parked_on_it = {next_task, none}, pc = open_next; return true;
      case open_next: generation = next_task, pc = launch_next; return true;
      case launch_next: end = next_task, pc = finished; return true;
      default: return false;
    }
  }
  [[nodiscard]] bool has_follower() const {
    for (int next = parked_on_it.head; next > 0; next = of[static_cast<std::size_t>(next)].next) {
      if (next == same_device) { return true; }
    }
    return false;
  }
  /// Takes the list, if it is that generation's and nobody else has.
  void close(std::size_t me, int of_generation) {
    if (parked_on_it.generation != of_generation || parked_on_it.head == closed) { return; }
    walk[me] = parked_on_it.head;
    parked_on_it.head = closed;
  }
  /// Requeues one that was parked. @return whether there was none left.
  bool released(std::size_t me) {
    if (walk[me] < 0) { return true; }
    dependent& who = of[static_cast<std::size_t>(walk[me])];
    walk[me] = who.next;
    twice = twice || who.requeued;
    who.requeued = true;
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
          pc = read_list;
        }
        mine.mark = 0;
        return true;
      case ask_failures: finds(failure_known ? -1 : gone); return true;
      case read_list: mine.seen = parked_on_it, pc = link; return true;
      case link:
        if ((mine.seen.generation == ahead || with == flaw::no_generation) &&
            mine.seen.head != closed) {
          mine.next = mine.seen.head, pc = exchange;
        } else {
          mine.seen = {}, pc = look;
        }
        return true;
      case exchange:
        if (parked_on_it != mine.seen) {
          mine.seen = parked_on_it, pc = link;
          return true;
        }
        parked_on_it.head = me;
        wrong_list = wrong_list || parked_on_it.generation != ahead;
        mine.seen = {}, pc = with == flaw::no_second_look ? parked : generation_moved;
        return true;
      case generation_moved: pc = generation == ahead ? launched : take_list; return true;
      case launched: pc = end == 0 ? parked : take_list; return true;
      case take_list: close(static_cast<std::size_t>(me), ahead), pc = release_taken; return true;
      case release_taken: pc = released(static_cast<std::size_t>(me)) ? parked : pc; return true;
      case parked:
        if (!mine.requeued) { return false; }  // until somebody says otherwise
        mine.requeued = false, pc = look;
        return true;
      default: return false;
    }
  }

  [[nodiscard]] std::string wrong() const {
    if (wrong_list) { return "parked on another task"; }
    if (twice) { return "requeued twice"; }
    for (int i : {1, 2}) {
      int const found = of[static_cast<std::size_t>(i)].found;
      if (found == next_task) { return "went on by another task's mark"; }
      if (found == gone && what == story::fails_unlaunched) {
        return "took a failed task for a good one";
      }
    }
    return "";
  }
  [[nodiscard]] std::string stuck() const {
    return at == std::array{finished, finished, finished} ? "" : "a task is parked for ever";
  }
};

// requirement
TEST(ParkModel, WhoDependsGoesOnByWhatWasAhead) {
  for (story const each : {story::ends_well, story::runs_long, story::fails_unlaunched}) {
    exploration const found = explore(park_model{each, flaw::none});
    EXPECT_EQ(found.wrong, "") << found;
    EXPECT_GT(found.states, 50u);
  }
}

// The checker finds what it is there for.
TEST(ParkModel, FlawsAreFound) {
  EXPECT_EQ(explore(park_model{story::ends_well, flaw::no_generation}).wrong,
            "parked on another task");
  EXPECT_EQ(explore(park_model{story::runs_long, flaw::no_second_look}).wrong,
            "a task is parked for ever");
  EXPECT_EQ(explore(park_model{story::fails_unlaunched, flaw::fails_late}).wrong,
            "took a failed task for a good one");
  EXPECT_EQ(explore(park_model{story::ends_well, flaw::keeps_staged}).wrong, "requeued twice");
  EXPECT_EQ(explore(park_model{story::ends_well, flaw::forgets_others}).wrong, "a task is parked for ever");
  EXPECT_EQ(explore(park_model{story::ends_well, flaw::looks_once}).wrong,
            "went on by another task's mark");
}

}  // namespace
}  // namespace flotilla::test
