// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/ordering/posted_errors.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <string>
#include <utility>

#include <flotilla/error/error.hpp>

#include "base/log.hpp"

namespace flotilla::dispatch {

namespace {

constexpr std::size_t max_printed = 64;  // errors whose tasks are counted at the same time

/// Returns whether the program has cancelled the task, or an item of the bulk.
bool has_program_cancelled(std::exception_ptr const& why) noexcept {
  try {
    std::rethrow_exception(why);
  } catch (task_cancelled const&) { return true; } catch (bulk_error const& of) {
    return of.cause() != nullptr && has_program_cancelled(of.cause());
  } catch (...) { return false; }
}

void print_count(std::size_t behind, failure const& first) {
  if (behind == 0) { return; }
  base::log(log_level::error, std::to_string(behind) +
                                  (behind == 1 ? " posted task" : " posted tasks") +
                                  " did not run because of this error: " + first.text);
}

}  // namespace

posted_errors::posted_errors(error_handler handler, task_table const& tasks,
                             std::shared_ptr<continuation_table> table, doorbell const& bell)
    : handler_(std::move(handler)), tasks_(tasks), table_(std::move(table)), bell_(bell) {}

void posted_errors::report(std::shared_ptr<failure const> const& why) noexcept {
  try {
    if (!handler_) { return print(why); }
    auto const state = std::make_shared<continuation_state>(table_);
    state->callable = detail::make_continuation(std::cref(handler_));
    table_->arrived(state, why->error);
  } catch (std::bad_alloc const&) {
    base::log(log_level::error, "a posted task failed; there was not enough memory to report it");
    return;
  }
  bell_.ring_for_continuations();
}

void posted_errors::print(std::shared_ptr<failure const> const& why) {
  bool const is_behind = why->cause != nullptr;
  std::shared_ptr<failure const> first = is_behind ? why->shared_first_cause() : why;
  if (has_program_cancelled(first->error)) { return; }
  std::vector<printed> counted;
  {
    std::lock_guard const lock{printing_};
    auto const known = std::find_if(printed_.begin(), printed_.end(),
                                    [&](printed const& each) { return each.first == first; });
    if (known != printed_.end()) {
      known->behind += is_behind ? 1 : 0;
      return;
    }
    if (printed_.size() == max_printed) { counted = std::exchange(printed_, {}); }
    printed_.push_back({std::move(first)});
  }
  for (printed const& each : counted) { print_count(each.behind, *each.first); }
  base::log(log_level::error, "a posted task failed: " + why->text);
}

void posted_errors::print_counts() noexcept {
  std::vector<printed> counted;  // its errors are destroyed after the unlock
  {
    std::lock_guard const lock{printing_};
    counted = std::exchange(printed_, {});
  }
  try {
    for (printed const& each : counted) { print_count(each.behind, *each.first); }
  } catch (std::bad_alloc const&) {  // only counts are lost
  }
}

void posted_errors::look_again() noexcept {
  poison found = poison::searched;
  if (poison_.compare_exchange_strong(found, poison::unknown, std::memory_order_relaxed)) {
    bell_.ring_for_continuations();
  }
}

void posted_errors::report_poison(std::shared_ptr<failure const> const& why,
                                  bool is_bulk_open) noexcept {
  // The runtime must not end before the report is due, although awaits_poison returns false from
  // here on.
  continuation_table::use const here{*table_};
  poison found = poison::unknown;
  // release: pairs with the acquire in awaits_poison, so that whoever sees the state sees the use
  if (!poison_.compare_exchange_strong(found, poison::searched, std::memory_order_release,
                                       std::memory_order_relaxed)) {
    return;
  }
  // Either the search below sees a task, or the thread that posts it sees the state (note_open).
  std::atomic_thread_fence(std::memory_order_seq_cst);
  bool is_any_open = is_bulk_open;
  tasks_.for_each_open([&](slot_address task) {
    is_any_open |= tasks_.at(task).posted.load(std::memory_order_relaxed);
    return !is_any_open;
  });
  if (!is_any_open) { return; }
  // A thread that has posted a task meanwhile has perhaps set the state back. Another thread then
  // reports nothing more.
  if (poison_.exchange(poison::reported, std::memory_order_relaxed) == poison::reported) { return; }
  report(why);
}

}  // namespace flotilla::dispatch
