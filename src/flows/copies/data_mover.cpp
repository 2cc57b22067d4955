// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/copies/data_mover.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/access.hpp"

namespace flotilla::flows {

data_mover::data_mover(dispatch::runtime_state& runtime, task_log& log)
    : runtime_(runtime),
      shared_(runtime.waits.with().shared),
      log_(log),
      writers_(shared_, runtime.query),
      copied_(runtime.infos().size() + 1) {}

void data_mover::add_writer(replica const& which, dependency_list& list) const {
  if (which.commuting.empty()) [[likely]] { return add_writer(which.filled, list); }
  for (writer const* each : which.commuting) { add_writer(each, list); }
}

void data_mover::add_writer(writer const* by, dependency_list& list) const {
  if (by == nullptr) { return; }
  task_id const& task = by->task;
  if (is_needless(task) && shared_.failures.empty()) { return; }
  for (task_id const& each : list.ids()) {
    if (each.slot == task.slot && each.generation == task.generation) { return; }
  }
  list.add(task);
}

bool data_mover::add_users(replica const& which, dependency_list& after_end) const {
  bool implies_writer = false;
  for (task_id const& each : which.users) {
    if (is_needless(each)) { continue; }
    after_end.add(each);
    implies_writer = true;
  }
  for (task_id const& each : which.memory.last_users) {
    if (!is_needless(each)) { after_end.add(each); }
  }
  return implies_writer;
}

void data_mover::reserve_user(replica& which) const {
  if (which.users.size() >= which.max_users) {
    std::erase_if(which.users, [this](task_id const& each) { return is_needless(each); });
    which.max_users = std::max<std::size_t>(16, 2 * which.users.size());
  }
  if (which.users.size() == which.users.capacity()) {
    which.users.reserve(2 * which.users.size() + 4);
  }
}

void data_mover::set_writer(replica& which, writer* by) noexcept {
  if (by != nullptr) { ++by->owners; }
  writers_.release(std::exchange(which.filled, by));
  for (writer* each : which.commuting) { writers_.release(each); }
  which.commuting.clear();
}

obstacle data_mover::join_commuting(detail::datum& which, place where) {
  replica& here = which.at(where);
  if (here.commuting.empty()) { return {}; }
  dispatch::flow_task_options options;
  options.label = which.label;
  add_writer(here, options.after);
  return mark(which, where, options);
}

void data_mover::note_copied(replica& to, writer& by) noexcept {
  to.users.clear();
  to.memory.last_users.clear();
  to.is_valid = true;
  set_writer(to, &by);
}

block data_mover::take_memory(replica& which) {
  log_.note_change("data give their memory up, or are made or end in it");
  std::vector<task_id>& last = which.memory.last_users;
  std::erase_if(last, [this](task_id const& each) { return is_needless(each); });
  last.reserve(last.size() + which.users.size() + which.commuting.size() + 1);
  for (task_id const& each : which.users) {
    if (!is_needless(each)) { last.push_back(each); }
  }
  for (writer const* each : which.commuting) { last.push_back(each->task); }
  if (which.filled != nullptr && !is_needless(which.filled->task)) {
    last.push_back(which.filled->task);
  }
  set_writer(which, nullptr);
  which.users.clear();
  which.is_valid = false;
  return std::exchange(which.memory, {});
}

place data_mover::source_for(detail::datum& which, place to) const noexcept {
  std::optional<place> best =
      which.at(place::host()).is_valid ? std::optional{place::host()} : std::nullopt;
  std::optional<place> direct;
  for (device const& each : runtime_.infos()) {
    place const from = place::of(each.ordinal);
    if (from == to || !which.at(from).is_valid) { continue; }
    // A copy between devices without access to each other goes through the host anyway.
    bool const is_direct =
        !to.is_host() && runtime_.peers.reaches(to.device().value, each.ordinal.value);
    if (is_direct) {
      // The source that is free first, so that copies to many devices form a binomial tree.
      bool const is_earlier = !direct || which.at(from).next_copy < which.at(*direct).next_copy;
      if (is_earlier) { direct = from; }
    } else if (!best) {
      best = from;
    }
  }
  return direct ? *direct : *best;
}

detail::memory_command data_mover::describe_copy(detail::datum& which, place from, place to) const {
  auto const range = [&](place at) {
    block const& memory = which.at(at).memory;
    return detail::device_range{&runtime_, at.device(), memory.address, which.bytes, memory.reach};
  };
  auto const op = [&] {
    if (from.is_host()) {
      block const& host = which.at(from).memory;
      return range(to).copy_from_host(reinterpret_cast<void const*>(host.address), host.kind);
    }
    if (to.is_host()) {
      block const& host = which.at(to).memory;
      return range(from).copy_to_host(reinterpret_cast<void*>(host.address), host.kind);
    }
    return range(from).copy_to(range(to));
  };
  detail::memory_command made = detail::access::command(op());
  if (which.is_dense_at(from) && which.is_dense_at(to)) { return made; }
  made.set_box({.width = which.shape.row_bytes(),
                .height = which.shape.extents[1],
                .depth = which.shape.extents[0],
                .to = which.pitch_at(to),
                .from = which.pitch_at(from)});
  return made;
}

obstacle data_mover::make_valid(detail::datum& which, place where, int priority) {
  replica& to = which.at(where);
  if (to.is_valid) { return {}; }
  if (to.user_count() > many_users) {
    if (obstacle const why = shorten_users(which, where)) { return why; }
  }
  place const from_place = source_for(which, where);
  replica& from = which.at(from_place);
  dispatch::flow_task_options options;
  options.label = which.label;
  options.priority = priority;
  add_writer(from, options.after);
  add_all(to, options.after_end);
  reserve_user(from);
  detail::memory_command const what = describe_copy(which, from_place, where);
  writer* const copy = writers_.add_if([&]() -> std::optional<task_id> {
    ticket made;  // without a ticket, the runtime would report the failure of the copy
    bool const was_submitted =
        runtime_.tasks.submit(what, options, dispatch::when_full::give_up, &made);
    return was_submitted ? std::optional{made.id()} : std::nullopt;
  });
  if (copy == nullptr) {
    return {.kind = obstacle::kinds::window_full, .where = where.is_host() ? from_place : where};
  }
  from.users.push_back(copy->task);
  note_copied(to, *copy);
  bool const is_between_devices = !from_place.is_host() && !where.is_host();
  to.next_copy = is_between_devices ? ++from.next_copy : 0;
  count(from_place, where, which.bytes);
  log_.add_copy({&which, from_place, where, what}, copy->task, options);
  return {};
}

obstacle data_mover::mark(detail::datum& which, place where, dispatch::flow_task_options& options) {
  writer* const by = writers_.add_if([&]() -> std::optional<task_id> {
    ticket made;
    return submit_nothing(options, made) ? std::optional{made.id()} : std::nullopt;
  });
  if (by == nullptr) { return {.kind = obstacle::kinds::window_full, .where = place::host()}; }
  set_writer(which.at(where), by);
  log_.add_join(by->task, options, which);
  return {};
}

obstacle data_mover::shorten(std::vector<task_id>& users, detail::datum const& which) {
  constexpr std::size_t max_users = 16;
  constexpr std::size_t max_predecessors = 1024;  // of a host task
  std::erase_if(users, [this](task_id const& each) { return is_needless(each); });
  auto const key = [](task_id const& of) { return std::pair{of.slot, of.generation}; };
  std::sort(users.begin(), users.end(),
            [&](task_id const& a, task_id const& b) { return key(a) < key(b); });
  users.erase(std::unique(users.begin(), users.end(),
                          [&](task_id const& a, task_id const& b) { return key(a) == key(b); }),
              users.end());
  while (users.size() > max_users) {
    auto const first =
        users.end() - static_cast<std::ptrdiff_t>(std::min(users.size(), max_predecessors));
    task_options options{.label = which.label};
    for (auto each = first; each != users.end(); ++each) { options.after_end.add(*each); }
    ticket made;
    if (!submit_nothing(options, made)) {
      return {.kind = obstacle::kinds::window_full, .where = place::host()};
    }
    log_.add_join(made.id(), options, which);
    *first = made.id();
    users.erase(first + 1, users.end());
  }
  return {};
}

obstacle data_mover::shorten_users(detail::datum& which, place where) {
  replica& here = which.at(where);
  if (obstacle const why = shorten(here.users, which)) { return why; }
  return shorten(here.memory.last_users, which);
}

void data_mover::count(place from, place to, std::size_t bytes) noexcept {
  if (to.is_host()) {
    copied_[from.index()].to_host += bytes;
  } else {
    copied_bytes& sum = copied_[to.index()];
    (from.is_host() ? sum.from_host : sum.from_devices) += bytes;
  }
}

}  // namespace flotilla::flows
