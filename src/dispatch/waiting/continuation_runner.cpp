// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/waiting/continuation_runner.hpp"

namespace flotilla::dispatch {

bool continuation_runner::run() const {
  continuation_table& table = shared_.continuations;
  if (table.watching() && shared_.faults.is_poisoned()) {
    table.end_all([this](continuation_table::key const& task) {
      task_id id;
      id.slot = task.slot;
      id.generation = task.generation;
      return query_.error_of(id);
    });
  }
  if (shared_.posted.awaits_poison() && shared_.faults.is_poisoned()) {
    shared_.posted.report_poison(shared_.faults.failure_of_all()->error);
  }
  bool const ran = table.run_due();
  // `run_due` has stopped at its limit, and this thread may not call `run` again soon. So ask for a
  // worker.
  if (table.any_due()) { shared_.bell.ring_for_continuations(); }
  return ran;
}

}  // namespace flotilla::dispatch
