// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/task_planner.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace flotilla::flows {

using detail::access_mode;

task_planner::task_planner(dispatch::runtime_state& runtime, flow_options const& options)
    : log_(options.keeps_graph),
      mover_(runtime, log_),
      memories_{[&] {
        std::vector<place_memory> made;
        made.emplace_back(place::host(), std::numeric_limits<std::size_t>::max());
        for (device const& each : runtime.infos()) {
          made.emplace_back(place::of(each.ordinal), options.memory_limit);
        }
        return made;
      }()},
      evictor_(mover_, memories_),
      uses_(memories_.size()) {}

void task_planner::mark_written(detail::datum& which, place where, writer* by) noexcept {
  for (replica& each : which.replicas) { each.is_valid = false; }
  replica& written = which.at(where);
  written.is_valid = true;
  written.users.clear();
  written.memory.last_users.clear();
  mover_.set_writer(written, by);
  which.has_contents = true;
}

obstacle task_planner::get_memory(detail::datum& which, place where,
                                  std::span<detail::datum_use const> uses) {
  place_memory& memory = memories_[where.index()];
  replica& here = which.at(where);
  here.memory = memory.take(which.bytes);
  if (!here.memory.exists()) {
    if (!memory.has_room(which.bytes)) {
      if (obstacle const why = evictor_.make_room(which, where, uses)) { return why; }
      here.memory = memory.take(which.bytes);
    }
    if (!here.memory.exists()) { return {obstacle::kinds::no_memory, where, which.bytes, &which}; }
  }
  if (where.is_host()) { return {}; }
  try {
    memory.residents().add(which);
  } catch (...) {
    memory.put(which.bytes, std::exchange(here.memory, {}));
    throw;
  }
  return {};
}

obstacle task_planner::prepare(std::span<detail::datum_use const> uses, place where, int priority,
                               std::size_t& copies) {
  // All uses first: making room for one must not write back another.
  for (detail::datum_use const& use : uses) { use.what->at(where).was_used = true; }
  for (detail::datum_use const& use : uses) {
    if (use.what->is_token()) { continue; }
    replica& here = use.what->at(where);
    if (here.memory.exists()) { continue; }
    if (obstacle const why = get_memory(*use.what, where, uses)) { return why; }
  }
  for (detail::datum_use const& use : uses) {
    if (use.what->is_token() || use.mode == access_mode::write) { continue; }
    if (use.what->at(where).is_valid) { continue; }
    if (obstacle const why = mover_.make_valid(*use.what, where, priority)) { return why; }
    ++copies;
  }
  return {};
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

void task_planner::retire(detail::datum& which) noexcept {
  for (std::size_t i = 0; i < which.replicas.size(); ++i) {
    replica& each = which.replicas[i];
    memories_[i].residents().remove(which);
    bool const is_of_flow = each.memory.owned.range().address() != 0;
    try {
      block unused = mover_.take_memory(each);
      if (is_of_flow) { memories_[i].put(which.bytes, std::move(unused)); }
    } catch (std::bad_alloc const&) {
      // The destructor of the block frees the memory behind the tasks that use it.
      mover_.set_writer(each, nullptr);
      if (each.memory.exists() && is_of_flow) { memories_[i].forget(which.bytes); }
    }
  }
}

flow_counters task_planner::counters(place of) const noexcept {
  copied_bytes const& copied = mover_.copied(of);
  eviction_counts const& evictions = evictor_.counts(of);
  use_counts const& uses = uses_[of.index()];
  return {.bytes_from_host = copied.from_host,
          .bytes_from_devices = copied.from_devices,
          .bytes_to_host = copied.to_host,
          .hits = uses.hits,
          .misses = uses.misses,
          .evictions = evictions.evicted,
          .write_backs = evictions.written,
          .allocated_bytes = memories_[of.index()].allocated()};
}

}  // namespace flotilla::flows
