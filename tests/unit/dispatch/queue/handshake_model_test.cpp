// Every interleaving of submitting with draining, giving the lease back, and workers that leave: no
// task is left where nobody will look. Follows device_queue::announce and pass, core::wake and
// drain_if_free, and worker_pool::wake and work step by step.

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
  announces_first,      // the submitter sets `pending` before it pushes
  clears_late,          // the pass takes first and clears `pending` then
  no_look_at_the_end,   // who gave the lease back does not look again
  no_look_on_leaving,   // a worker that leaves does not look again
  looks_before_leaving  // it does, but while it still counts
};

/// Threads 0 and 1 submit one task each; 2 and 3 are bodies that oneTBB may run, when asked for; 4
/// helps: it drains once, if the lease is free, and goes away.
struct submit_model {
  static constexpr int threads = 5;
  static constexpr int moves = threads;
  static constexpr int nobody = -1;

  enum places : signed char {
    // a submitter
    push, announce, exchange, wake_if_free,
    // whoever wakes
    wake,
    // a worker
    absent, look_pending, look_backlog, leave, last_pending, last_backlog, come_back,
    // whoever drains
    try_lease, clear, take, leave_over, give_back, again_pending, again_backlog,
    ended,
  };

  int most;  // workers
  flaw with;
  std::array<places, threads> at{push, push, absent, absent, try_lease};
  // An inbox a submitter. A new one is seen from the next `take` on, and not by `leave_over`
  // before.
  std::array<int, 2> box{};
  std::array<bool, 2> opened{};
  std::array<bool, 2> seen{};
  int done = 0;
  bool pending = false;
  bool backlog = false;
  int holder = nobody;
  int active = 0;
  int posted = 0;

  submit_model(int most_workers, flaw of) : most{most_workers}, with{of} {
    if (with == flaw::announces_first) { at[0] = at[1] = announce; }
  }
  auto operator<=>(submit_model const&) const = default;

  static bool is_worker(int thread) { return thread == 2 || thread == 3; }
  /// Where a thread goes on after it has drained and looked again.
  static places home(int thread) { return is_worker(thread) ? look_pending : ended; }

  bool step(int me) {
    places& pc = at[static_cast<std::size_t>(me)];
    bool const late = with == flaw::clears_late;
    switch (pc) {
      case push:
        box[static_cast<std::size_t>(me)] = 1, opened[static_cast<std::size_t>(me)] = true;
        pc = with == flaw::announces_first ? wake_if_free : announce;
        return true;
      case announce:
        pc = !pending ? exchange : with == flaw::announces_first ? push : ended;
        return true;
      case exchange: {
        bool const was = std::exchange(pending, true);
        pc = with == flaw::announces_first ? push : was ? ended : wake_if_free;
        return true;
      }
      case wake_if_free: pc = holder == nobody ? wake : ended; return true;
      case wake:
        if (active < most) { ++active, ++posted; }
        pc = home(me);
        return true;
      case absent:
        if (posted == 0) { return false; }
        --posted, pc = look_pending;
        return true;
      case look_pending: pc = pending ? try_lease : look_backlog; return true;
      case look_backlog:
        pc = backlog ? try_lease : with == flaw::looks_before_leaving ? last_pending : leave;
        return true;
      case leave:
        --active;
        pc = with == flaw::no_look_on_leaving || with == flaw::looks_before_leaving ? absent
                                                                                    : last_pending;
        return true;
      case last_pending: pc = pending ? come_back : last_backlog; return true;
      case last_backlog:
        pc = backlog ? come_back : with == flaw::looks_before_leaving ? leave : absent;
        return true;
      case come_back:
        if (with == flaw::looks_before_leaving) {
          pc = look_pending;
        } else {
          pc = active < most ? look_pending : absent;
          active = std::min(active + 1, most);
        }
        return true;
      case try_lease:
        if (holder == nobody) {
          holder = me, pc = late ? take : clear;
        } else {
          pc = home(me);
        }
        return true;
      case clear: pending = false, pc = late ? leave_over : take; return true;
      case take:  // one at most: what is left makes a backlog
        seen = opened;
        if (int* const full = std::find(box.begin(), box.end(), 1); full != box.end()) {
          *full = 0, ++done;
        }
        pc = late ? clear : leave_over;
        return true;
      case leave_over:
        backlog = (seen[0] && box[0] != 0) || (seen[1] && box[1] != 0);
        pc = give_back;
        return true;
      case give_back:
        holder = nobody, pc = with == flaw::no_look_at_the_end ? home(me) : again_pending;
        return true;
      case again_pending: pc = pending ? wake : again_backlog; return true;
      case again_backlog: pc = backlog ? wake : home(me); return true;
      case ended: return false;
    }
    return false;
  }
  [[nodiscard]] std::string wrong() const {
    return active > most || active < 0 ? "workers are miscounted" : "";
  }
  [[nodiscard]] std::string stuck() const {
    if (box[0] + box[1] != 0) { return "a task is left, and nobody is about to look"; }
    return done == 2 && holder == nobody && active == 0 ? "" : "something is not as it was";
  }
};

// requirement
TEST(SubmitModel, NoTaskIsStranded) {
  for (int const workers : {1, 2}) {
    exploration const found = explore(submit_model{workers, flaw::none});
    EXPECT_EQ(found.wrong, "") << workers << " workers: " << found;
    EXPECT_GT(found.states, 1000u);
  }
}

// The checker finds what it is there for.
TEST(SubmitModel, FlawsAreFound) {
  for (flaw const each : {flaw::announces_first, flaw::clears_late, flaw::no_look_at_the_end,
                          flaw::no_look_on_leaving, flaw::looks_before_leaving}) {
    EXPECT_EQ(explore(submit_model{1, each}).wrong, "a task is left, and nobody is about to look")
      << "flaw " << static_cast<int>(each);
  }
}

}  // namespace
}  // namespace flotilla::test
