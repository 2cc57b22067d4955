// Every interleaving of ends, drops of tickets and the end of the runtime: exactly one frees the core, and nobody
// touches it afterwards. Follows core::end_well, drop_ticket, shut_down and count_tickets_of_open step by step.

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <utility>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// How the model differs from the code, so that the checker has something to find.
enum class flaw : signed char {
  none,
  counts_late,           // who ends tasks counts their tickets after it gave the lease back
  leaves_open_out,       // the runtime's end does not count tickets of tasks that never end
  counts_without_lease,  // it does, but others may be ending tasks at the time
  drops_what_is_counted  // a drop does not look whether its ticket was counted though its task is open
};

/// Two tasks, a ticket each. Thread 0 ends the first, or both; 1 and 2 drop one each; 3 ends the runtime. Where that is
/// poisoned, the second task ends only if thread 2, which has waited for it, happens to have drained (move 4).
struct ticket_count_model {
  static constexpr int threads = 4;
  static constexpr int moves = threads + 1;
  static constexpr int nobody = -1;

  enum places : signed char {
    try_lease, end_first, end_second, count_late, count, give_back,  // whoever ends tasks
    look, detach, drop,                                              // whoever drops a ticket
    wait_for_ends, take_lease, open_first, open_second, count_open, let_go, close,  // who ends the runtime
    finished,
  };
  struct task {
    bool ended = false;
    bool detached = false;
    auto operator<=>(task const&) const = default;
  };

  flaw with;
  bool poisoned;
  std::array<places, threads> at{try_lease, look, look, wait_for_ends};
  std::array<task, 2> tasks{};
  std::array<task, 2> seen{};           // by who drops
  std::array<int, threads> left{};      // tickets that this thread is to count
  int counted = 0;
  int holder = nobody;
  bool closed = false;
  int lasts = 0;
  bool freed_early = false;

  ticket_count_model(flaw which, bool bad) : with{which}, poisoned{bad} {}
  auto operator<=>(ticket_count_model const&) const = default;

  bool step(int move) {
    int const me = move == threads ? 2 : move;
    places& pc = at[static_cast<std::size_t>(me)];
    bool const freed = lasts != 0;
    if (pc == finished) { return false; }
    if (move == threads) {
      if (!poisoned || pc != look || seen[1] != task{} || tasks[1].ended || holder != nobody) { return false; }
      holder = me, pc = end_second;
    } else if (!(me == 3 ? end_runtime(pc) : pc >= look && pc <= drop ? drop_ticket(me, pc) : end_tasks(me, pc))) {
      return false;
    }
    freed_early = freed_early || freed;
    return true;
  }

  bool end_tasks(int me, places& pc) {
    int& mine = left[static_cast<std::size_t>(me)];
    places const after = with == flaw::counts_late ? give_back : count;
    auto const end = [&mine](task& which) {
      if (!which.detached) { ++mine; }
      which = {true, false};
    };
    switch (pc) {
      case try_lease:
        if (holder != nobody) { return false; }
        holder = me, pc = end_first;
        return true;
      case end_first: end(tasks[0]), pc = poisoned ? after : end_second; return true;
      case end_second: end(tasks[1]), pc = after; return true;
      case count: counted += std::exchange(mine, 0), pc = give_back; return true;
      case give_back:
        holder = nobody;
        pc = with == flaw::counts_late ? count_late : me == 0 ? finished : look;
        return true;
      case count_late: counted += std::exchange(mine, 0), pc = me == 0 ? finished : look; return true;
      default: return false;
    }
  }
  bool drop_ticket(int me, places& pc) {
    task& mine = tasks[static_cast<std::size_t>(me - 1)];
    task& known = seen[static_cast<std::size_t>(me - 1)];
    auto const go_on = [&] {
      bool const gone = known.ended || (known.detached && with != flaw::drops_what_is_counted);
      pc = gone ? drop : detach;
    };
    switch (pc) {
      case look: known = mine, go_on(); return true;
      case detach:
        if (mine != known) {
          known = mine, go_on();
        } else {
          mine.detached = true, pc = finished;
        }
        return true;
      case drop:
        if (--counted == 0 && closed) { ++lasts; }
        pc = finished;
        return true;
      default: return false;
    }
  }
  bool end_runtime(places& pc) {
    auto const count_one = [this](task& which) {
      if (!which.ended && !std::exchange(which.detached, true)) { ++left[3]; }
    };
    bool const without = with == flaw::counts_without_lease;
    bool const counts = poisoned && with != flaw::leaves_open_out;
    switch (pc) {
      case wait_for_ends:
        // Where tasks may never end, for the workers: thread 0 is one. Elsewhere it can be who waits for its ticket.
        if (poisoned ? at[0] != finished : !(tasks[0].ended && tasks[1].ended)) { return false; }
        pc = take_lease;
        return true;
      case take_lease:
        if (holder != nobody) { return false; }
        holder = 3, pc = counts && !without ? open_first : let_go;
        return true;
      case open_first: count_one(tasks[0]), pc = open_second; return true;
      case open_second: count_one(tasks[1]), pc = count_open; return true;
      case count_open: counted += std::exchange(left[3], 0), pc = without ? close : let_go; return true;
      case let_go: holder = nobody, pc = counts && without ? open_first : close; return true;
      case close:
        closed = true, pc = finished;
        if (counted == 0) { ++lasts; }
        return true;
      default: return false;
    }
  }
  [[nodiscard]] std::string wrong() const {
    if (lasts > 1) { return "freed twice"; }
    return freed_early ? "touched after it was freed" : "";
  }
  [[nodiscard]] std::string stuck() const { return lasts == 1 ? "" : "kept for ever"; }
};

// requirement
TEST(TicketCountModel, TheLastOneFreesTheCore) {
  for (bool const poisoned : {false, true}) {
    exploration const found = explore(ticket_count_model{flaw::none, poisoned});
    EXPECT_EQ(found.wrong, "") << (poisoned ? "poisoned: " : "") << found;
    EXPECT_GT(found.states, 100u);
  }
}

// The checker finds what it is there for.
TEST(TicketCountModel, FlawsAreFound) {
  EXPECT_NE(explore(ticket_count_model{flaw::counts_late, false}).wrong, "");
  EXPECT_NE(explore(ticket_count_model{flaw::leaves_open_out, true}).wrong, "");
  EXPECT_NE(explore(ticket_count_model{flaw::counts_without_lease, true}).wrong, "");
  EXPECT_EQ(explore(ticket_count_model{flaw::drops_what_is_counted, true}).wrong, "kept for ever");
}

}  // namespace
}  // namespace flotilla::test
