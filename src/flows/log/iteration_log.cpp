// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/log/iteration_log.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/access.hpp"

namespace flotilla::flows {

namespace {

/// Compares two launches. The bytes between two arguments have no value.
[[nodiscard]] bool are_same(launch const& a, launch const& b,
                            dispatch::kernel_table const& kernels) noexcept {
  std::uint32_t const kernel = detail::access::kernel_index(a);
  if (kernel != detail::access::kernel_index(b) || a.grid() != b.grid() || a.block() != b.block() ||
      a.dynamic_shared_bytes() != b.dynamic_shared_bytes()) {
    return false;
  }
  auto const* const left = static_cast<std::byte const*>(a.arguments());
  auto const* const right = static_cast<std::byte const*>(b.arguments());
  auto const& all = kernels.kernels[kernel].parameters;
  return std::all_of(all.begin(), all.end(), [&](kernel_parameter const& each) {
    return std::memcmp(left + each.offset, right + each.offset, each.bytes) == 0;
  });
}

[[nodiscard]] bool are_same(copy_step const& a, copy_step const& b) noexcept {
  // The shape of the data determines the rest of the command.
  return a.which == b.which && a.from == b.from && a.to == b.to && a.command.to == b.command.to &&
         a.command.from == b.command.from;
}

[[nodiscard]] bool are_same(detail::datum_use const& a, detail::datum_use const& b) noexcept {
  return a.what == b.what && a.mode == b.mode;
}

}  // namespace

bool iteration_step::equals(iteration_step const& other,
                            dispatch::kernel_table const& kernels) const noexcept {
  if (what.has_value() != other.what.has_value() || after != other.after ||
      priority != other.priority) {
    return false;
  }
  if (!what) { return are_same(*copy, *other.copy); }
  return where == other.where && are_same(*what, *other.what, kernels) &&
         std::equal(uses.begin(), uses.end(), other.uses.begin(), other.uses.end(),
                    [](auto const& a, auto const& b) { return are_same(a, b); });
}

bool iteration_log::is_own_task() const noexcept {
  return std::this_thread::get_id() == thread_ && !dispatch::is_inside_user_code(runtime_);
}

char const* iteration_log::why_not(task_options const& options) const noexcept {
  constexpr auto no_deadline = std::chrono::steady_clock::time_point::max();
  if (!is_own_task()) { return "another thread, a callable or a continuation submits a task"; }
  if (!options.batch) { return "a task has 'batch = false'"; }
  if (options.stop.stop_possible()) { return "a task has a stop token"; }
  if (options.deadline != no_deadline) { return "a task has a deadline"; }
  // A replay never runs again after the loss of its device, but this task would.
  if (options.repeatable && runtime_.waits.with().shared.lost.any_isolated()) {
    return "a task on an isolated device is repeatable";
  }
  if (!steps_.empty() && steps_.front().priority != options.priority) {
    return "its tasks have different priorities";
  }
  return nullptr;
}

void iteration_log::add(iteration_step&& step, task_id const& id, task_options const& options) {
  for (dependency_list const* const list : {&options.after, &options.after_end}) {
    for (task_id const& each : list->ids()) {
      // The other predecessors are older than the iteration.
      if (auto const ahead = step_of(each)) { step.after.push_back(*ahead); }
    }
  }
  step.priority = options.priority;
  step_of_[id] = steps_.size();
  steps_.push_back(std::move(step));
}

void iteration_log::add_task(std::span<detail::datum_use const> uses,
                             submitted_task const& task) noexcept {
  if (task.what == nullptr) {
    refuse("it submits a callable or a host task");
  } else if (detail::access::marks(*task.what).is_attributed) {
    refuse("a launch has an attribute or a task_status");
  } else if (char const* const why = why_not(task.options)) {
    refuse(why);
  }
  try {
    places_.push_back(task.where);
    if (why_not_ != nullptr) { return; }
    add({.what = *task.what, .where = task.where, .uses = {uses.begin(), uses.end()}}, task.id,
        task.options);
  } catch (std::bad_alloc const&) { refuse("there is no memory"); }
}

void iteration_log::add_copy(copy_step const& copy, task_id const& id,
                             task_options const& options) noexcept {
  if (char const* const why = why_not(options)) { refuse(why); }
  if (why_not_ != nullptr) { return; }
  try {
    add({.copy = copy, .where = copy.to}, id, options);
  } catch (std::bad_alloc const&) { refuse("there is no memory"); }
}

void iteration_log::check_predecessors(task_options const& options) noexcept {
  for (dependency_list const* const list : {&options.after, &options.after_end}) {
    for (task_id const& each : list->ids()) {
      if (!step_of(each)) { refuse("a task names a predecessor from outside of the iteration"); }
    }
  }
}

std::optional<place> iteration_log::place_of_next_task() const noexcept {
  bool const is_known = before_ != nullptr && before_->is_replayable() && is_own_task() &&
                        places_.size() < before_->places_.size();
  return is_known ? std::optional{before_->places_[places_.size()]} : std::nullopt;
}

bool iteration_log::equals(iteration_log const& other) const noexcept {
  dispatch::kernel_table const& kernels = runtime_.waits.with().shared.kernels;
  return std::equal(steps_.begin(), steps_.end(), other.steps_.begin(), other.steps_.end(),
                    [&](auto const& a, auto const& b) { return a.equals(b, kernels); });
}

}  // namespace flotilla::flows
