// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Checks every interleaving of threads that take and release the lease. At most one thread may have
// the lease, and no thread may sleep while the lease is free. The model follows the steps of
// `lease_gate`.

#include <gtest/gtest.h>

#include <array>
#include <compare>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw : signed char {
  none,
  looks_first,       // give_back reads `takers` before it clears `holder`
  counts_late,       // take increments `takers` only after it has found the lease held
  notifies_outside,  // give_back notifies without having locked the mutex
};

enum kinds : signed char { takes, takes_until, tries, has_it };

enum places : signed char {
  // steps of take and take_until
  count,
  lock,
  claim,
  count_late,
  sleep,
  asleep,
  last_claim,
  uncount,
  unlock,
  // steps of try_take
  look_at_takers,
  try_claim,
  // steps of the holder, and of give_back
  inside,
  look_early,
  clear,
  look,
  through_lock,
  through_unlock,
  notify,
  ended,
};

struct lease_model {
  static constexpr int threads = 4;
  static constexpr int moves = 2 * threads;  // move `threads + i` is a timeout of thread i's wait
  using kinds_of_threads = std::array<kinds, threads>;

  kinds_of_threads kind;
  flaw with;
  std::array<places, threads> at{};
  std::array<bool, threads> has{};
  int holder = nobody;
  int takers = 0;
  int mutex = nobody;
  int sleepers = 0;
  int wakes = 0;        // number of notifications that have not woken a thread yet
  bool looked = false;  // whether the step `look_early` saw a taker
  static constexpr int nobody = -1;

  lease_model(kinds_of_threads who, flaw of) : kind{who}, with{of} {
    for (int i = 0; i < threads; ++i) {
      switch (who[index(i)]) {
        case takes:
        case takes_until: at[index(i)] = with == flaw::counts_late ? lock : count; break;
        case tries: at[index(i)] = look_at_takers; break;
        case has_it:
          at[index(i)] = inside;
          has[index(i)] = true;
          holder = i;
          break;
      }
    }
  }
  auto operator<=>(lease_model const&) const = default;

  static std::size_t index(int thread) { return static_cast<std::size_t>(thread); }
  bool claimed_by(int me) {
    if (holder == nobody) {
      holder = me;
      has[index(me)] = true;
    }
    return has[index(me)];
  }

  bool step(int move) {
    if (move >= threads) { return time_out(move - threads); }
    int const me = move;
    places& pc = at[index(me)];
    switch (pc) {
      case count: ++takers, pc = lock; return true;
      case lock: return acquire(me, claim);
      case claim:
        pc = claimed_by(me) ? uncount : with == flaw::counts_late ? count_late : sleep;
        return true;
      case count_late: ++takers, pc = sleep; return true;
      case sleep:
        // One step, because a condition variable atomically unlocks the mutex and begins to wait.
        mutex = nobody, ++sleepers, pc = asleep;
        return true;
      case asleep:
        if (wakes == 0 || !acquire(me, claim)) { return false; }
        --wakes, --sleepers;
        return true;
      case last_claim: static_cast<void>(claimed_by(me)), pc = uncount; return true;
      case uncount: --takers, pc = unlock; return true;
      case unlock: mutex = nobody, pc = has[index(me)] ? inside : ended; return true;
      case look_at_takers: pc = takers != 0 || holder != nobody ? ended : try_claim; return true;
      case try_claim: pc = claimed_by(me) ? inside : ended; return true;
      case inside: pc = with == flaw::looks_first ? look_early : clear; return true;
      case look_early: looked = takers != 0, pc = clear; return true;
      case clear:
        has[index(me)] = false, holder = nobody;
        pc = with != flaw::looks_first ? look : looked ? through_lock : ended;
        return true;
      case look:
        pc = takers == 0 ? ended : with == flaw::notifies_outside ? notify : through_lock;
        return true;
      case through_lock: return acquire(me, through_unlock);
      case through_unlock: mutex = nobody, pc = notify; return true;
      case notify: wakes = std::min(wakes + 1, sleepers), pc = ended; return true;
      case ended: return false;
    }
    return false;
  }
  bool acquire(int me, places then) {
    if (mutex != nobody) { return false; }
    mutex = me;
    at[index(me)] = then;
    return true;
  }
  /// The wait of thread `me` times out, and the thread tries once more to take the lease. If a
  /// notification was meant for this thread, another waiting thread gets it. If no other thread
  /// waits, the notification is lost.
  bool time_out(int me) {
    if (kind[index(me)] != takes_until || at[index(me)] != asleep || !acquire(me, last_claim)) {
      return false;
    }
    --sleepers;
    wakes = std::min(wakes, sleepers);
    return true;
  }

  [[nodiscard]] std::string wrong() const {
    return std::count(has.begin(), has.end(), true) > 1 ? "two threads have the lease" : "";
  }
  [[nodiscard]] std::string stuck() const {
    for (int i = 0; i < threads; ++i) {
      if (at[index(i)] == asleep) { return "a taker sleeps on a free lease"; }
      if (at[index(i)] != ended) { return "a thread cannot go on"; }
    }
    return holder == nobody && (takers == 0 || with == flaw::counts_late)
               ? ""
               : "the gate is not in its initial state";
  }
};

class LeaseModel : public ::testing::TestWithParam<lease_model::kinds_of_threads> {};

// requirement
TEST_P(LeaseModel, NoTakerSleepsOnAFreeLease) {
  exploration const found = explore(lease_model{GetParam(), flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 100u);
}
INSTANTIATE_TEST_SUITE_P(, LeaseModel,
                         ::testing::Values(std::array{has_it, takes, takes, takes},
                                           std::array{has_it, takes, takes, takes_until},
                                           std::array{has_it, takes_until, takes, takes_until},
                                           std::array{has_it, takes, takes, tries},
                                           std::array{has_it, takes_until, takes, tries},
                                           std::array{tries, takes, takes_until, tries}));

// requirement: the checker finds each built-in error
TEST(LeaseModelFlaws, AreFound) {
  for (flaw const each : {flaw::looks_first, flaw::counts_late, flaw::notifies_outside}) {
    EXPECT_EQ(explore(lease_model{{has_it, takes, tries, tries}, each}).wrong,
              "a taker sleeps on a free lease")
        << "flaw " << static_cast<int>(each);
  }
}

}  // namespace
}  // namespace flotilla::test
