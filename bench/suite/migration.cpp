// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does a migration of the context between threads cost during a flood?
// Control:  the same flood and the same loop, but only one thread drains.
//
// Normally oneTBB decides which worker drains. To force migrations, this runtime has no workers,
// and two threads pump in turn.

#include <atomic>
#include <thread>

#include "base/cache_line.hpp"
#include "bench_suite.hpp"
#include "runtime_fixture.hpp"

namespace flotilla::bench {

namespace {

double flood(figure& result, std::int64_t tasks, int pumpers) {
  auto& fixture = get_fixture<runtime_fixture>({.workers = 0, .producers = 1 + pumpers});
  alignas(base::cache_line) std::atomic<int> turn{1};
  alignas(base::cache_line) std::atomic<bool> submitted{false};
  std::atomic<bool> failed{false};  // set when a thread fails, so that the other threads stop
  std::uint64_t const before = fixture.counters().migrations;
  auto const start = clock::now();
  auto const submit_all = [&] {
    // Use try_submit: if the window is full, submit would drain the device on this thread, which
    // would be another migration.
    for (std::int64_t i = 0; i < tasks && !failed;) {
      if (fixture.rt.try_submit(fixture.null_launch, {.device = device_ordinal{0}})) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
    submitted = true;
  };
  auto const drain_in_turn = [&](int member) {
    for (bool more = true; more && !failed;) {
      // acquire: pairs with the release store of `turn` below
      if (turn.load(std::memory_order_acquire) != member) {
        std::this_thread::yield();
        continue;
      }
      bool const last = submitted;
      bool const left = fixture.rt.pump();
      more = !last || left;
      turn.store(member % pumpers + 1, std::memory_order_release);
    }
  };
  fixture.producers.run([&](int member) {
    try {
      member == 0 ? submit_all() : drain_in_turn(member);
    } catch (...) {
      failed = true;
      throw;
    }
  });
  double const ns = ns_each(start, tasks);
  auto const moved = static_cast<double>(fixture.counters().migrations - before);
  result.note =
      std::to_string(moved * 1000 / static_cast<double>(tasks)) + " migrations in 1000 tasks";
  return ns;
}

}  // namespace

void add_migration(bench_suite& suite) {
  std::int64_t const tasks = suite.amount().flood;
  for (int const pumpers : {1, 2}) {
    bool const moves = pumpers > 1;
    suite.measure(moves ? "flotilla, two threads drain in turn" : "flotilla, one thread drains",
                  {.who = moves ? "flotilla, migrating" : "flotilla, pinned",
                   .what = "migrate",
                   .backlog = tasks},
                  [=](figure& result) { return flood(result, tasks, pumpers); });
  }
  suite.compare({.id = "migrate",
                 .subject = "flotilla, two threads drain in turn",
                 .control = "one thread drains",
                 .controls = {"flotilla, one thread drains"},
                 .max_ratio = 1.1});
}

}  // namespace flotilla::bench
