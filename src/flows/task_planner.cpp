// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/task_planner.hpp"

#include <algorithm>
#include <utility>

#include "base/access.hpp"

namespace flotilla::flows {

using detail::access_mode;

task_planner::task_planner(dispatch::runtime_state& runtime)
    : runtime_(runtime),
      caches_(runtime.infos().size() + 1),
      writers_(runtime.waits.with().shared, runtime.query) {}

void task_planner::add_writer(replica const& which, dependency_list& list) const {
  if (which.filled == nullptr) { return; }
  task_id const& task = which.filled->task;
  if (is_needless(task) && parts().failures.empty()) { return; }
  for (task_id const& each : list.ids()) {
    if (each.slot == task.slot && each.generation == task.generation) { return; }
  }
  list.add(task);
}

void task_planner::add_users(replica const& which, dependency_list& after_end) const {
  for (task_id const& each : which.users) {
    if (!is_needless(each)) { after_end.add(each); }
  }
  for (task_id const& each : which.memory.last_users) {
    if (!is_needless(each)) { after_end.add(each); }
  }
}

void task_planner::reserve_user(replica& which) const {
  if (which.users.size() >= which.max_users) {
    std::erase_if(which.users, [this](task_id const& each) { return has_ended(each); });
    which.max_users = std::max<std::size_t>(16, 2 * which.users.size());
  }
  if (which.users.size() == which.users.capacity()) {
    which.users.reserve(2 * which.users.size() + 4);
  }
}

void task_planner::set_writer(replica& which, writer* by) noexcept {
  if (by != nullptr) { ++by->owners; }
  writers_.release(std::exchange(which.filled, by));
}

void task_planner::mark_written(detail::datum& which, place where, writer* by) noexcept {
  for (replica& each : which.replicas) { each.is_valid = false; }
  replica& written = which.at(where);
  written.is_valid = true;
  written.users.clear();
  written.memory.last_users.clear();
  set_writer(written, by);
  which.has_contents = true;
}

place task_planner::source_for(detail::datum& which, place to) const noexcept {
  std::optional<place> best =
      which.at(place::host()).is_valid ? std::optional{place::host()} : std::nullopt;
  for (device const& each : runtime_.infos()) {
    place const from = place::of(each.ordinal);
    if (from == to || !which.at(from).is_valid) { continue; }
    // A copy between devices without access to each other goes through the host anyway.
    bool const is_direct =
        !to.is_host() && runtime_.peers.reaches(to.device().value, each.ordinal.value);
    if (is_direct) { return from; }
    if (!best) { best = from; }
  }
  return *best;
}

memory_op task_planner::describe_copy(detail::datum& which, place from, place to) const {
  auto const range = [&](place at) {
    block const& memory = which.at(at).memory;
    return detail::device_range{&runtime_, at.device(), memory.address, which.bytes, memory.reach};
  };
  if (from.is_host()) {
    block const& host = which.at(from).memory;
    return range(to).copy_from_host(reinterpret_cast<void const*>(host.address), host.kind);
  }
  if (to.is_host()) {
    block const& host = which.at(to).memory;
    return range(from).copy_to_host(reinterpret_cast<void*>(host.address), host.kind);
  }
  return range(from).copy_to(range(to));
}

obstacle task_planner::make_valid(detail::datum& which, place where, int priority) {
  replica& to = which.at(where);
  if (to.is_valid) { return {}; }
  place const from_place = source_for(which, where);
  replica& from = which.at(from_place);
  dispatch::flow_options options;
  options.label = which.label;
  options.priority = priority;
  add_writer(from, options.after);
  add_users(to, options.after_end);
  add_writer(to, options.after_end);
  reserve_user(from);
  writer& copy = writers_.add();
  ticket made;
  bool submitted = false;
  try {
    memory_op const what = describe_copy(which, from_place, where);
    submitted = runtime_.tasks.submit(detail::access::command(what), options,
                                      dispatch::when_full::give_up, &made);
  } catch (...) {
    writers_.give_back(copy);
    throw;
  }
  if (!submitted) {
    writers_.give_back(copy);
    return {obstacle::kinds::window_full, where.is_host() ? from_place : where, &which};
  }
  copy.task = made.id();
  from.users.push_back(copy.task);
  to.users.clear();
  to.memory.last_users.clear();
  to.is_valid = true;
  set_writer(to, &copy);
  return {};
}

obstacle task_planner::prepare(std::span<detail::datum_use const> uses, place where, int priority) {
  for (detail::datum_use const& use : uses) {
    detail::datum& which = *use.what;
    if (which.is_token()) { continue; }
    replica& here = which.at(where);
    if (!here.memory.exists()) {
      here.memory = caches_[where.index()].take(which.bytes);
      if (!here.memory.exists()) { return {obstacle::kinds::no_memory, where, &which}; }
    }
  }
  for (detail::datum_use const& use : uses) {
    if (use.what->is_token() || use.mode == access_mode::write) { continue; }
    if (obstacle const why = make_valid(*use.what, where, priority);
        why.kind != obstacle::kinds::none) {
      return why;
    }
  }
  return {};
}

void task_planner::plan(std::span<detail::datum_use const> uses, place where,
                        task_options& options) {
  bool writes = false;
  for (detail::datum_use const& use : uses) {
    replica& here = use.what->at(where);
    // A task that only writes heals data that are lost, so a failed writer must not fail it.
    add_writer(here, use.mode == access_mode::write ? options.after_end : options.after);
    if (use.mode == access_mode::read) {
      reserve_user(here);
    } else {
      add_users(here, options.after_end);
      writes = true;
    }
  }
  // If the last planned task was not submitted after all, its writer is still unused.
  if (writes && planned_ == nullptr) { planned_ = &writers_.add(); }
}

void task_planner::commit(std::span<detail::datum_use const> uses, place where,
                          task_id task) noexcept {
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

void task_planner::retire(detail::datum& which) {
  for (std::size_t i = 0; i < which.replicas.size(); ++i) {
    replica& each = which.replicas[i];
    std::vector<task_id> users = std::move(each.users);
    if (each.filled != nullptr) { users.push_back(each.filled->task); }
    set_writer(each, nullptr);
    if (each.memory.owned.range().address() == 0) { continue; }
    users.insert(users.end(), each.memory.last_users.begin(), each.memory.last_users.end());
    each.memory.last_users = std::move(users);
    caches_[i].put(which.bytes, std::move(each.memory));
  }
}

}  // namespace flotilla::flows
