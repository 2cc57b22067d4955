// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/check/recorded_order.hpp"

#include <string>
#include <utility>

#include <flotilla/error/error.hpp>

#include "dispatch/check/order_check.hpp"

namespace flotilla::dispatch {

namespace {

constexpr task_name name_of(std::uint32_t number) noexcept { return {number, 1}; }

}  // namespace

checked_task recorded_order::named(checked_task task, std::uint32_t number) {
  task.text += ", task " + std::to_string(number) + " of the recording";
  return task;
}

void recorded_order::add_to_history(std::uint32_t number, recorded const& one) {
  std::vector<task_name> after;
  after.reserve(one.ahead.size());
  for (std::uint32_t const each : one.ahead) { after.push_back(name_of(each)); }
  if (auto const conflict = history_.add(name_of(number), after, {}, one.task)) {
    throw_finding(describe_pair(*conflict, one.task) +
                  "; add the earlier task to the 'after' of the later one "
                  "(recorded_options::after)");
  }
}

void recorded_order::add(std::uint32_t number, std::vector<std::uint32_t> ahead,
                         checked_task task) {
  if (tasks_.size() > number) {
    tasks_.resize(number);
    history_.withdraw(name_of(number));
  }
  recorded made{std::move(ahead), named(std::move(task), number)};
  tasks_.reserve(tasks_.size() + 1);
  if (is_checked_) { add_to_history(number, made); }
  tasks_.push_back(std::move(made));
}

void recorded_order::set(std::uint32_t number, checked_task task) {
  tasks_[number].task = named(std::move(task), number);
  is_checked_ = false;
}

void recorded_order::check() {
  if (is_checked_) { return; }
  history_ = order_history{max_tasks};
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    add_to_history(static_cast<std::uint32_t>(i), tasks_[i]);
  }
  is_checked_ = true;
}

std::vector<memory_access> recorded_order::accesses() const {
  std::vector<memory_access> made;
  for (recorded const& each : tasks_) {
    made.insert(made.end(), each.task.accesses.begin(), each.task.accesses.end());
  }
  return made;
}

}  // namespace flotilla::dispatch
