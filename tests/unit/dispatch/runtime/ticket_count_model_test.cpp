// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tasks end, tickets are dropped, and the runtime ends. Checks every interleaving: exactly one
// thread must delete the runtime's state, and no thread may access the state afterwards. The model
// follows the steps of task_end::end_batch, of ticket_count::drop, drop_counted, count_open and
// close, and of runtime_state::shut_down and end.

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
  counts_late,             // end_batch counts the tickets only after it has released the lease
  omits_open,              // shut_down does not call count_open
  counts_without_lease,    // shut_down calls count_open while another thread can end tasks
  ignores_counted_tickets  // drop does not check whether the ticket is counted
};

/// There are two tasks with one ticket each. Thread 0 ends both tasks, or only the first task if
/// the runtime is poisoned. Threads 1 and 2 drop one ticket each. Thread 3 ends the runtime. On a
/// poisoned runtime, thread 2 waits for the second task and can end it by draining the device (move
/// 4).
struct ticket_count_model {
  static constexpr int threads = 4;
  static constexpr int moves = threads + 1;
  static constexpr int nobody = -1;

  enum places : signed char {
    // a drain: steps of task_end::end_batch
    try_lease,
    end_first,
    settle_first,
    end_second,
    settle_second,
    count_late,
    count,
    release,
    // steps of ticket_count::drop and drop_counted
    settle,
    drop,
    // steps of runtime_state::shut_down and end, ticket_count::count_open and close
    wait_for_ends,
    take_lease,
    open_first,
    open_second,
    count_open,
    release_last,
    close,
    finished,
  };
  struct task {
    bool ended = false;
    bool settled = false;     // see ticket_word
    bool given_back = false;  // the slot is free: the runtime waits for this
    auto operator<=>(task const&) const = default;
  };

  flaw with;
  bool poisoned;
  std::array<places, threads> at{try_lease, settle, settle, wait_for_ends};
  std::array<task, 2> tasks{};
  std::array<int, threads> left{};  // tickets that each thread has yet to add to `counted`
  int counted = 0;
  int holder = nobody;
  bool closed = false;
  int deletes = 0;
  bool touched_late = false;

  ticket_count_model(flaw broken, bool bad) : with{broken}, poisoned{bad} {}
  auto operator<=>(ticket_count_model const&) const = default;

  bool step(int move) {
    int const me = move == threads ? 2 : move;
    places& pc = at[static_cast<std::size_t>(me)];
    bool const deleted = deletes != 0;
    if (pc == finished) { return false; }
    if (move == threads) {
      if (!poisoned || pc != settle || tasks[1].ended || holder != nobody) { return false; }
      holder = me, pc = end_second;
    } else if (!(me == 3                      ? end_runtime(pc)
                 : pc >= settle && pc <= drop ? drop_ticket(me, pc)
                                              : end_tasks(me, pc))) {
      return false;
    }
    touched_late = touched_late || deleted;
    return true;
  }

  bool end_tasks(int me, places& pc) {
    int& mine = left[static_cast<std::size_t>(me)];
    places const after = with == flaw::counts_late ? release : count;
    auto const end_ticket = [&mine](task& which) {
      if (!std::exchange(which.settled, true)) { ++mine; }
      which.given_back = true;
    };
    switch (pc) {
      case try_lease:
        if (holder != nobody) { return false; }
        holder = me, pc = end_first;
        return true;
      case end_first: tasks[0].ended = true, pc = settle_first; return true;
      case settle_first: end_ticket(tasks[0]), pc = poisoned ? after : end_second; return true;
      case end_second: tasks[1].ended = true, pc = settle_second; return true;
      case settle_second: end_ticket(tasks[1]), pc = after; return true;
      case count: counted += std::exchange(mine, 0), pc = release; return true;
      case release:
        holder = nobody;
        pc = with == flaw::counts_late ? count_late : me == 0 ? finished : settle;
        return true;
      case count_late:
        counted += std::exchange(mine, 0), pc = me == 0 ? finished : settle;
        return true;
      default: return false;
    }
  }
  bool drop_ticket(int me, places& pc) {
    task& mine = tasks[static_cast<std::size_t>(me - 1)];
    switch (pc) {
      case settle:
        // If end_batch or count_open was first, the ticket is counted.
        pc = std::exchange(mine.settled, true) && with != flaw::ignores_counted_tickets ? drop
                                                                                        : finished;
        return true;
      case drop:
        if (--counted == 0 && closed) { ++deletes; }
        pc = finished;
        return true;
      default: return false;
    }
  }
  bool end_runtime(places& pc) {
    auto const count_one = [this](task& which) {
      if (!which.ended && !std::exchange(which.settled, true)) { ++left[3]; }
    };
    bool const without = with == flaw::counts_without_lease;
    bool const counts = poisoned && with != flaw::omits_open;
    switch (pc) {
      case wait_for_ends:
        // If the runtime is poisoned, thread 3 waits for the workers, which means for thread 0.
        // Otherwise it waits for all tasks.
        if (poisoned ? at[0] != finished : !(tasks[0].given_back && tasks[1].given_back)) {
          return false;
        }
        pc = take_lease;
        return true;
      case take_lease:
        if (holder != nobody) { return false; }
        holder = 3, pc = counts && !without ? open_first : release_last;
        return true;
      case open_first: count_one(tasks[0]), pc = open_second; return true;
      case open_second: count_one(tasks[1]), pc = count_open; return true;
      case count_open:
        counted += std::exchange(left[3], 0), pc = without ? close : release_last;
        return true;
      case release_last: holder = nobody, pc = counts && without ? open_first : close; return true;
      case close:
        closed = true, pc = finished;
        if (counted == 0) { ++deletes; }
        return true;
      default: return false;
    }
  }
  [[nodiscard]] std::string wrong() const {
    if (deletes > 1) { return "the state was deleted twice"; }
    return touched_late ? "the state was accessed after its deletion" : "";
  }
  [[nodiscard]] std::string stuck() const {
    return deletes == 1 ? "" : "the state is never deleted";
  }
};

// requirement
TEST(TicketCountModel, LastOwnerDeletesTheInside) {
  for (bool const poisoned : {false, true}) {
    exploration const found = explore(ticket_count_model{flaw::none, poisoned});
    EXPECT_EQ(found.wrong, "") << (poisoned ? "poisoned: " : "") << found;
    EXPECT_GT(found.states, 100u);
  }
}

// requirement: the checker finds each built-in error
TEST(TicketCountModel, FlawsAreFound) {
  EXPECT_NE(explore(ticket_count_model{flaw::counts_late, false}).wrong, "");
  EXPECT_NE(explore(ticket_count_model{flaw::omits_open, true}).wrong, "");
  EXPECT_NE(explore(ticket_count_model{flaw::counts_without_lease, true}).wrong, "");
  EXPECT_EQ(explore(ticket_count_model{flaw::ignores_counted_tickets, true}).wrong,
            "the state is never deleted");
}

}  // namespace
}  // namespace flotilla::test
