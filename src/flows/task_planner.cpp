// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/task_planner.hpp"

#include <algorithm>
#include <utility>

namespace flotilla::flows {

using detail::access_mode;

task_planner::task_planner(dispatch::runtime_state& runtime, flow_options const& options)
    : log_(options.keeps_graph),
      mover_(runtime, log_),
      residency_(runtime, options, mover_),
      tiler_(mover_, residency_),
      uses_(runtime.infos().size() + 1) {}

void task_planner::mark_written(detail::datum& which, place where, writer* by) noexcept {
  for (replica& each : which.replicas) { each.is_valid = false; }
  replica& written = which.at(where);
  written.is_valid = true;
  written.users.clear();
  written.memory.last_users.clear();
  mover_.set_writer(written, by);
  which.has_contents = true;
}

obstacle task_planner::prepare(std::span<detail::datum_use const> uses, place where, int priority,
                               std::size_t& copies) {
  for (detail::datum_use const& use : uses) {
    if (obstacle const why = tiler_.join(*use.what, priority)) { return why; }
  }
  return residency_.prepare(uses, where, priority, copies);
}

void task_planner::plan(std::span<detail::datum_use const> uses, place where,
                        task_options& options) {
  bool writes = false;
  for (detail::datum_use const& use : uses) {
    replica& here = use.what->at(where);
    // A task that only writes heals data that are lost, so a failed writer must not fail it.
    mover_.add_writer(here, use.mode == access_mode::write ? options.after_end : options.after);
    if (use.mode == access_mode::read) {
      mover_.reserve_user(here);
    } else {
      mover_.add_users(here, options.after_end);
      writes = true;
    }
  }
  // If the last planned task was not submitted after all, its writer is still unused.
  if (writes && planned_ == nullptr) { planned_ = &mover_.writers().add(); }
}

void task_planner::commit(std::span<detail::datum_use const> uses, place where, task_id task,
                          task_options const& options) noexcept {
  log_.add_task(task, options, uses, where);
  bool writes = false;
  for (detail::datum_use const& use : uses) {
    if (use.mode == access_mode::read) {
      use.what->at(where).users.push_back(task);
    } else {
      planned_->task = task;
      mark_written(*use.what, where, planned_);
      writes = true;
    }
  }
  if (writes) { planned_ = nullptr; }
}

void task_planner::commit_host_update(detail::datum& which) noexcept {
  mark_written(which, place::host(), nullptr);
}

void task_planner::count(std::span<detail::datum_use const> uses, place where,
                         std::size_t copies) noexcept {
  std::size_t reads = 0;
  for (detail::datum_use const& use : uses) {
    reads += !use.what->is_token() && use.mode != access_mode::write ? 1 : 0;
  }
  use_counts& sum = uses_[where.index()];
  sum.misses += copies;
  // Data can be evicted and copied again before the task is submitted.
  sum.hits += reads - std::min(reads, copies);
}

flow_counters task_planner::counters(place of) const noexcept {
  copied_bytes const& copied = mover_.copied(of);
  eviction_counts const& evictions = residency_.evictions(of);
  use_counts const& uses = uses_[of.index()];
  return {.bytes_from_host = copied.from_host,
          .bytes_from_devices = copied.from_devices,
          .bytes_to_host = copied.to_host,
          .hits = uses.hits,
          .misses = uses.misses,
          .evictions = evictions.evicted,
          .write_backs = evictions.written,
          .allocated_bytes = residency_.memory(of).allocated()};
}

}  // namespace flotilla::flows
