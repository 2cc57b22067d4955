// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/waiting/continuation_runner.hpp"

#include <chrono>

namespace flotilla::dispatch {

namespace {
constexpr int max_runs = 64;  // continuations in one call of `run`
}

bool continuation_runner::run() const {
  continuation_table& table = shared_.continuations;
  bool const made_due = table.watching() && shared_.faults.is_poisoned();
  if (made_due) {
    // A host task whose function runs even now ends by itself, and others run after it. A callable
    // that runs may use what its continuation destroys.
    auto const ends_later = [this](continuation_table::key const& task) {
      return query_.runs_on_host(task.slot);
    };
    table.end_all(ends_later, [this](continuation_table::key const& task) {
      task_id id;
      id.slot = task.slot;
      id.generation = task.generation;
      return query_.error_of(id);
    });
  }
  if (shared_.posted.awaits_poison() && shared_.faults.is_poisoned()) {
    shared_.posted.report_poison(shared_.faults.failure_of_all(),
                                 shared_.bulks.any_without_ticket());
  }
  if (!runs_here()) {
    if (made_due) { shared_.bell.ring_for_continuations(); }
    return false;
  }
  bool ran = false;
  for (int i = 0; i < max_runs; ++i) {
    auto const begun = std::chrono::steady_clock::now();
    if (!table.run_next()) { break; }
    ran = true;
    // While this thread ran the continuation, it drove no device.
    if (shared_.tasks.any_open()) {
      shared_.slow_calls.note_continuation(std::chrono::steady_clock::now() - begun);
    }
  }
  // This thread may not call `run` again soon. So ask for a worker.
  if (table.any_due()) { shared_.bell.ring_for_continuations(); }
  return ran;
}

}  // namespace flotilla::dispatch
