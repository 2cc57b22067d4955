// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/waiting/host_access.hpp"

#include <exception>

#include <flotilla/error/error.hpp>

#include "dispatch/task/host_task_frame.hpp"

namespace flotilla::flows {

namespace {

/// Calls visit(task_id) for the tasks that must end before the program uses the copy, about in the
/// order of their submission.
template <class Visit>
void for_each_task(replica const& copy, bool for_update, Visit const& visit) {
  if (for_update) {
    for (task_id const& each : copy.memory.last_users) { visit(each); }
  }
  // Tasks do not commute on the host, so this is the only writer.
  if (copy.filled != nullptr) { visit(copy.filled->task); }
  if (for_update) {
    for (task_id const& each : copy.users) { visit(each); }
  }
}

}  // namespace

std::optional<task_id> host_access::open_task(detail::datum& which, bool for_update) const {
  // The last one: when it has ended, most of the others have, too.
  std::optional<task_id> open;
  for_each_task(which.at(place::host()), for_update, [&](task_id const& task) {
    if (!runtime_.query.has_ended(task)) { open = task; }
  });
  return open;
}

std::optional<task_id> host_access::open_task_at_end(detail::datum& which,
                                                     bool is_read_then) const {
  if (which.is_token()) { return {}; }
  replica const& copy = which.at(place::host());
  bool const may_be_freed = copy.memory.kind == detail::host_memory::pageable;
  if (!copy.memory.exists() || (!may_be_freed && !is_read_then)) { return {}; }
  std::optional<task_id> open;
  for_each_task(copy, may_be_freed, [&](task_id const& task) {
    bool const runs_here = dispatch::host_task_frame::runs_here(runtime_.number, task.slot);
    if (!runs_here && !runtime_.query.has_ended(task)) { open = task; }
  });
  if (which.tiles == nullptr) { return open; }
  for (auto const& each : which.tiles->ended) {
    if (!open) { open = open_task_at_end(*each, is_read_then); }
  }
  return open;
}

void host_access::wait_for(task_id const& task) const {
  dispatch::ticket_wait wait{runtime_.waits, runtime_.deadlocks, task, std::nullopt};
  runtime_.waits.until(wait);
}

void host_access::note_wait(detail::datum& which, bool for_update) const {
  dispatch::submit_checks* const checks = runtime_.checks.get();
  if (checks == nullptr) { return; }
  for_each_task(which.at(place::host()), for_update,
                [&](task_id const& task) { checks->observed(task); });
}

void host_access::check_not_lost(detail::datum& which) const {
  replica const& here = which.at(place::host());
  if (here.filled == nullptr) { return; }
  if (auto const why = runtime_.query.failure_of(here.filled->task)) {
    if (why->spreads || why->is_a<poisoned>()) { std::rethrow_exception(why->error); }
    throw dependency_failed(which.text() +
                                " are lost because a task that should have written them failed; "
                                "first cause: " +
                                why->first_cause().text,
                            why->error);
  }
}

}  // namespace flotilla::flows
