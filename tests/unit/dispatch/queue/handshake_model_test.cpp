// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Threads submit tasks, drain a device, release its lease, and end as workers. Checks every
// interleaving: for each task there must always be a thread that will take it.
//
// There are two handshakes. In each, a thread first changes its own state, and then reads the state
// that the other thread changes:
//
//   a thread submits:  push, `pending` := true --> lease held? --no--> wake
//   a holder drains:   `pending` := false, take, release --> `pending` or `backlog`? --yes--> wake
//
//   `wake` is called:  work is announced --> `active` < max? --yes--> post a worker
//   a worker ends:     `active` -= 1 --> work announced? --yes--> `active` += 1, stay
//
// The model follows the steps of device_inbound::announce, ring and begin_pass, of
// device_set::drain_if_free and lease_guard, of device_driver::drain and pass, and of
// worker_pool::wake, worker::run and stay_after_all.

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
  announces_first,         // a thread announces its task before it pushes the task
  clears_late,             // a pass clears `pending` only after it has taken tasks
  no_check_after_release,  // lease_guard does not check for work after the release of the lease
  no_check_after_leaving,  // a worker does not check for work after it has decremented `active`
  checks_before_leaving    // a worker checks only before it decrements `active`
};

/// Threads 0 and 1 submit one task each. Threads 2 and 3 are jobs, which oneTBB can run as soon as
/// they are posted. Thread 4 helps: like `pump`, it drains once if the lease is free.
///
/// In the model, a drain is one pass. More passes would only lengthen the time between `clear` and
/// `release`.
struct handshake_model {
  static constexpr int threads = 5;
  static constexpr int moves = threads;
  static constexpr int nobody = -1;

  enum places : signed char {
    // steps of submitter::submit, device_inbound::announce and ring
    push,
    announce,
    exchange,
    ring_if_free,
    // step of worker_pool::wake, which any thread can call
    wake,
    // steps of worker::run and stay_after_all
    absent,
    look_pending,
    look_backlog,
    leave,
    last_pending,
    last_backlog,
    come_back,
    // steps of device_set::drain_if_free, device_driver::drain and pass
    try_lease,
    drain_pending,
    drain_backlog,
    clear,
    take,
    set_backlog,
    // steps of ~lease_guard
    release,
    again_pending,
    again_backlog,
    ended,
  };

  int max;  // the maximum number of workers
  flaw with;
  std::array<places, threads> at{push, push, absent, absent, try_lease};
  // Each submitter has an inbox. `take` refreshes the consumer's view of the inboxes. `set_backlog`
  // uses this view, so it misses inboxes that were opened after `take`.
  std::array<int, 2> box{};
  std::array<bool, 2> opened{};
  std::array<bool, 2> view{};
  int done = 0;
  bool pending = false;
  bool backlog = false;
  int holder = nobody;
  int active = 0;
  int posted = 0;

  handshake_model(int max_workers, flaw broken) : max{max_workers}, with{broken} {
    if (with == flaw::announces_first) { at[0] = at[1] = announce; }
  }
  auto operator<=>(handshake_model const&) const = default;

  static bool is_worker(int thread) { return thread == 2 || thread == 3; }
  /// The thread's first step after a drain.
  static places home(int thread) { return is_worker(thread) ? look_pending : ended; }

  bool step(int me) {
    places& pc = at[static_cast<std::size_t>(me)];
    bool const late = with == flaw::clears_late;
    switch (pc) {
      case push:
        box[static_cast<std::size_t>(me)] = 1, opened[static_cast<std::size_t>(me)] = true;
        pc = with == flaw::announces_first ? ring_if_free : announce;
        return true;
      case announce:
        pc = !pending ? exchange : with == flaw::announces_first ? push : ended;
        return true;
      case exchange: {
        bool const was = std::exchange(pending, true);
        pc = with == flaw::announces_first ? push : was ? ended : ring_if_free;
        return true;
      }
      case ring_if_free: pc = holder == nobody ? wake : ended; return true;
      case wake:
        if (active < max) { ++active, ++posted; }
        pc = home(me);
        return true;
      case absent:
        if (posted == 0) { return false; }
        --posted, pc = look_pending;
        return true;
      case look_pending: pc = pending ? try_lease : look_backlog; return true;
      case look_backlog:
        pc = backlog ? try_lease : with == flaw::checks_before_leaving ? last_pending : leave;
        return true;
      case leave:
        --active;
        pc = with == flaw::no_check_after_leaving || with == flaw::checks_before_leaving
                 ? absent
                 : last_pending;
        return true;
      case last_pending: pc = pending ? come_back : last_backlog; return true;
      case last_backlog:
        pc = backlog ? come_back : with == flaw::checks_before_leaving ? leave : absent;
        return true;
      case come_back:
        if (with == flaw::checks_before_leaving) {
          pc = look_pending;
        } else {
          pc = active < max ? look_pending : absent;
          active = std::min(active + 1, max);
        }
        return true;
      case try_lease:
        pc = holder == nobody ? drain_pending : home(me);
        if (holder == nobody) { holder = me; }
        return true;
      case drain_pending: pc = pending ? first_of_pass() : drain_backlog; return true;
      case drain_backlog: pc = backlog ? first_of_pass() : release; return true;
      case clear: pending = false, pc = late ? set_backlog : take; return true;
      case take:  // takes at most one task, so that the other can remain as a backlog
        view = opened;
        if (int* const full = std::find(box.begin(), box.end(), 1); full != box.end()) {
          *full = 0, ++done;
        }
        pc = late ? clear : set_backlog;
        return true;
      case set_backlog:
        backlog = (view[0] && box[0] != 0) || (view[1] && box[1] != 0);
        pc = release;
        return true;
      case release:
        holder = nobody, pc = with == flaw::no_check_after_release ? home(me) : again_pending;
        return true;
      case again_pending: pc = pending ? wake : again_backlog; return true;
      case again_backlog: pc = backlog ? wake : home(me); return true;
      case ended: return false;
    }
    return false;
  }
  [[nodiscard]] places first_of_pass() const { return with == flaw::clears_late ? take : clear; }
  [[nodiscard]] std::string wrong() const {
    return active > max || active < 0 ? "workers are miscounted" : "";
  }
  [[nodiscard]] std::string stuck() const {
    if (box[0] + box[1] != 0) { return "a task is left, and no thread will take it"; }
    return done == 2 && holder == nobody && active == 0
               ? ""
               : "the lease or a count is not in its initial state";
  }
};

// requirement
TEST(HandshakeModel, NoTaskIsStranded) {
  for (int const workers : {1, 2}) {
    exploration const found = explore(handshake_model{workers, flaw::none});
    EXPECT_EQ(found.wrong, "") << workers << " workers: " << found;
    EXPECT_GT(found.states, 1000u);
  }
}

// requirement: the checker finds each built-in error
TEST(HandshakeModel, FlawsAreFound) {
  for (flaw const each : {flaw::announces_first, flaw::clears_late, flaw::no_check_after_release,
                          flaw::no_check_after_leaving, flaw::checks_before_leaving}) {
    EXPECT_EQ(explore(handshake_model{1, each}).wrong, "a task is left, and no thread will take it")
        << "flaw " << static_cast<int>(each);
  }
}

}  // namespace
}  // namespace flotilla::test
