// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/order/task_order.hpp"

#include <atomic>
#include <utility>

#include "dispatch/task/task_state.hpp"
#include "flows/log/task_key.hpp"

namespace flotilla::flows {

using detail::access_mode;

namespace {

/// Returns a number that no other tasks use for their turn. All flows share the numbers, so that
/// tasks of different flows rarely have the same turn.
[[nodiscard]] std::uint32_t next_turn() noexcept {
  static std::atomic<std::uint32_t> last{0};
  std::uint32_t made = last.fetch_add(1, std::memory_order_relaxed) + 1;
  if (made == dispatch::task_key::no_turn) {
    made = last.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  return made;
}

}  // namespace

void task_order::mark_commuted(detail::datum& which, place where, writer& by) noexcept {
  replica& here = which.at(where);
  for (replica& each : which.replicas) { each.is_valid = &each == &here; }
  here.next_copy = 0;
  mover_.add_commuting(here, by);
  which.has_contents = true;
}

bool task_order::may_commute(std::span<detail::datum_use const> uses, detail::datum_use const& use,
                             place where) const noexcept {
  if (where.is_host() || mover_.needs_all_predecessors()) { return false; }
  // The task also runs if the task that took the turn before has failed. So it must write nothing
  // but the lost data.
  for (detail::datum_use const& other : uses) {
    if (&other != &use && other.mode != access_mode::read) { return false; }
  }
  replica const& here = use.what->at(where);
  if (!here.users.empty() || !here.memory.last_users.empty()) { return false; }
  return here.commuting.empty() ||
         (here.commuting.size() < replica::max_commuting && here.commuting_place == where.index());
}

void task_order::plan_turn(replica& here, place where, task_options& options) {
  if (here.commuting.empty()) {
    here.commuting.reserve(replica::max_commuting);
    here.commuting_place = where.index();
    here.turn = next_turn();
  }
  mover_.add_filled(here, options.after);
  options.after_end.add(dispatch::make_turn(here.turn));
}

void task_order::mark_written(detail::datum& which, place where, writer* by) noexcept {
  for (replica& each : which.replicas) { each.is_valid = false; }
  replica& written = which.at(where);
  written.is_valid = true;
  written.next_copy = 0;
  written.users.clear();
  written.memory.last_users.clear();
  mover_.set_writer(written, by);
  which.has_contents = true;
  if (which.reduction != nullptr) { which.reduction->only_identity = false; }
}

void task_order::plan(std::span<detail::datum_use const> uses, place where, task_options& options) {
  commutes_ = false;
  for (detail::datum_use const& use : uses) {
    replica& here = use.what->at(where);
    if (use.mode == access_mode::commute && may_commute(uses, use, where)) [[unlikely]] {
      plan_turn(here, where, options);
      commutes_ = true;
      continue;
    }
    if (use.mode == access_mode::write) {
      // The task heals data that are lost, so a failed writer must not fail it.
      mover_.add_all(here, options.after_end);
      continue;
    }
    mover_.add_writer(here, options.after);
    if (use.mode == access_mode::read) {
      mover_.reserve_user(here);
    } else {
      static_cast<void>(mover_.add_users(here, options.after_end));
    }
  }
  // If the last planned task was not submitted after all, its writer is still unused.
  if (planned_ == nullptr) { planned_ = &mover_.writers().add(); }
}

void task_order::commit(std::span<detail::datum_use const> uses,
                        submitted_task const& task) noexcept {
  log_.add_task(uses, task);
  writer& by = *std::exchange(planned_, nullptr);
  by.task = task.id;
  ++by.owners;
  for (detail::datum_use const& use : uses) {
    if (use.mode == access_mode::read) {
      std::vector<task_id>& users = use.what->at(task.where).users;
      // A task may read the same data twice, but has room for one entry.
      if (users.empty() || !same_task{}(users.back(), task.id)) { users.push_back(task.id); }
    } else if (commutes_) {
      mark_commuted(*use.what, task.where, by);
    } else {
      mark_written(*use.what, task.where, &by);
    }
  }
  // If the task only reads, its failure is retired when it has ended.
  mover_.writers().release(&by);
}

void task_order::commit_host_update(detail::datum& which) noexcept {
  mark_written(which, place::host(), nullptr);
}

}  // namespace flotilla::flows
