// Question: what does it cost that the context goes from thread to thread during a flood?
// Control:  the same flood, the same loop, with one thread that drains.
//
// Which oneTBB worker drains is oneTBB's affair. So that the context moves for certain, the workers
// here are threads of this file, which pump in turn.

#include <atomic>
#include <thread>

#include "base/cache_line.hpp"
#include "fleet.hpp"
#include "suite.hpp"

namespace flotilla::bench {

namespace {

double flood(figure& at, std::int64_t tasks, int pumpers) {
  auto& ships = rig_for<fleet>({.workers = 0, .producers = 1 + pumpers});
  alignas(base::cache_line) std::atomic<int> turn{1};
  alignas(base::cache_line) std::atomic<bool> submitted{false};
  std::atomic<bool> failed{false};  // who threw is waited for by nobody
  std::uint64_t const before = ships.counters().migrations;
  auto const start = clock::now();
  auto const submit_all = [&] {
    // try_submit: a submit that met a full window would help, and so move the context itself.
    for (std::int64_t i = 0; i < tasks && !failed;) {
      if (ships.rt.try_submit(ships.null, {.device = device_ordinal{0}})) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
    submitted = true;
  };
  auto const drain_in_turn = [&](int member) {
    for (bool more = true; more && !failed;) {
      // acquire: pairs with the release below: one pumps at a time
      if (turn.load(std::memory_order_acquire) != member) {
        std::this_thread::yield();
        continue;
      }
      bool const last = submitted;
      bool const left = ships.rt.pump();
      more = !last || left;
      turn.store(member % pumpers + 1, std::memory_order_release);
    }
  };
  ships.producers.run([&](int member) {
    try {
      member == 0 ? submit_all() : drain_in_turn(member);
    } catch (...) {
      failed = true;
      throw;
    }
  });
  double const ns = ns_each(start, tasks);
  auto const moved = static_cast<double>(ships.counters().migrations - before);
  at.note = std::to_string(moved * 1000 / static_cast<double>(tasks)) + " migrations in 1000 tasks";
  return ns;
}

}  // namespace

void add_migration(suite& to) {
  std::int64_t const tasks = to.amount().flood;
  for (int const pumpers : {1, 2}) {
    bool const moves = pumpers > 1;
    to.measure(moves ? "flotilla, two threads drain in turn" : "flotilla, one thread drains",
               {.who = moves ? "flotilla, migrating" : "flotilla, pinned",
                .what = "migrate",
                .backlog = tasks},
               [=](figure& at) { return flood(at, tasks, pumpers); });
  }
  to.compare({.id = "migrate",
              .subject = "flotilla, two threads drain in turn",
              .control = "one thread drains",
              .controls = {"flotilla, one thread drains"},
              .most_ratio = 1.1});
}

}  // namespace flotilla::bench
