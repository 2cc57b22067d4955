// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/check/order_check.hpp"

#include <utility>

#include <flotilla/error/error.hpp>

#include "base/log.hpp"
#include "dispatch/check/text.hpp"

namespace flotilla::dispatch {

namespace {

std::string text_of(memory_access const& access) {
  std::string text = access.reads && access.writes ? "reads and writes"
                     : access.writes               ? "writes"
                                                   : "reads";
  text += " " + std::to_string(access.end - access.begin) + " bytes at " +
          check_text::of_address(access.begin);
  if (access.argument != memory_access::no_argument) {
    text += " (argument " + std::to_string(access.argument) + ")";
  }
  return text;
}

std::string name_of(checked_task const& task, char const* without_label) {
  return task.label.empty() ? without_label : "task '" + task.label + "'";
}

}  // namespace

std::string describe_pair(order_conflict const& found, checked_task const& later) {
  return "two tasks use the same memory, but have no order: the earlier task (" +
         found.earlier.text + ") " + text_of(found.earlier_access) + ", and the later task (" +
         later.text + ") " + text_of(found.later_access);
}

std::string describe(order_conflict const& found, checked_task const& later) {
  std::string const first = name_of(found.earlier, "the earlier task");
  std::string const second = name_of(later, "the later task");
  if (found.earlier.by_flow != later.by_flow) {
    return describe_pair(found, later) + "; a flow has submitted " +
           (later.by_flow ? second : first) +
           ", and knows only tasks that use its data: submit the other one to the flow too, or "
           "wait "
           "for " +
           first + " before you submit " + second;
  }
  return describe_pair(found, later) + "; add the ticket of " + first + " to the 'after' of " +
         second + ", or wait for " + first + " before you submit " + second;
}

void throw_finding(std::string const& text) {
  base::log(log_level::error, text);
  throw missing_dependency(text);
}

void order_check::add(task_name name, dependency_list const& after,
                      std::span<task_name const> inside, checked_task task) {
  std::vector<task_name> names;
  names.reserve(after.size());
  for (task_id const each : after.ids()) { names.push_back({each.slot, each.generation}); }
  std::optional<order_conflict> conflict;
  {
    std::lock_guard const lock{mutex_};
    conflict = history_.add(name, names, inside, task);
  }
  if (conflict) { throw_finding(describe(*conflict, task)); }
}

void order_check::withdraw(task_name name) noexcept {
  std::lock_guard const lock{mutex_};
  history_.withdraw(name);
}

void order_check::observed(task_name name) noexcept {
  std::lock_guard const lock{mutex_};
  try {
    history_.observed(name);
  } catch (...) {
    // There is no host memory for the search. Forget everything, so that no false report follows.
    history_.observed_before(history_.next());
  }
}

void order_check::observed_before(task_number number) {
  std::lock_guard const lock{mutex_};
  history_.observed_before(number);
}

void order_check::freed(std::uintptr_t address, std::size_t bytes) {
  std::lock_guard const lock{mutex_};
  history_.freed(address, address + bytes);
}

task_number order_check::next() const {
  std::lock_guard const lock{mutex_};
  return history_.next();
}

}  // namespace flotilla::dispatch
