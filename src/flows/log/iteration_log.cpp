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

bool iteration_log::is_replayable(task_options const& options) const noexcept {
  bool const has_deadline = options.deadline != std::chrono::steady_clock::time_point::max();
  // A replay never runs again after the loss of its device, but this task would.
  bool const may_run_again = options.repeatable && runtime_.waits.with().shared.lost.any_isolated();
  return is_own_task() && options.batch && !options.stop.stop_possible() && !has_deadline &&
         !may_run_again && (steps_.empty() || steps_.front().priority == options.priority);
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
  bool const can_be_recorded =
      task.what != nullptr && !detail::access::marks(*task.what).is_attributed;
  if (!can_be_recorded || !is_replayable(task.options)) { refuse(); }
  try {
    places_.push_back(task.where);
    if (!is_replayable_) { return; }
    add({.what = *task.what, .where = task.where, .uses = {uses.begin(), uses.end()}}, task.id,
        task.options);
  } catch (std::bad_alloc const&) { refuse(); }
}

void iteration_log::add_copy(copy_step const& copy, task_id const& id,
                             task_options const& options) noexcept {
  if (!is_replayable(options)) { refuse(); }
  if (!is_replayable_) { return; }
  try {
    add({.copy = copy, .where = copy.to}, id, options);
  } catch (std::bad_alloc const&) { refuse(); }
}

void iteration_log::check_predecessors(task_options const& options) noexcept {
  for (dependency_list const* const list : {&options.after, &options.after_end}) {
    for (task_id const& each : list->ids()) {
      if (!step_of(each)) { refuse(); }
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
