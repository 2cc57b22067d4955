// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/ordering/posted_errors.hpp"

#include <new>
#include <utility>

#include "base/log.hpp"
#include "dispatch/task/failure.hpp"

namespace flotilla::dispatch {

namespace {

void print(std::exception_ptr const& why) noexcept {
  try {
    base::log(log_level::error, "a posted task failed: " + make_failure(why)->text);
  } catch (std::bad_alloc const&) {
    base::log(log_level::error,
              "a posted task failed; there was not enough memory for its error text");
  }
}

}  // namespace

posted_errors::posted_errors(error_handler handler, task_table const& tasks,
                             std::shared_ptr<continuation_table> table, doorbell const& bell)
    : handler_(handler ? std::move(handler) : error_handler{print}),
      tasks_(tasks),
      table_(std::move(table)),
      bell_(bell) {}

void posted_errors::report(std::exception_ptr const& why) noexcept {
  try {
    auto const state = std::make_shared<completion_state>(table_);
    state->callable = detail::make_continuation(std::cref(handler_));
    table_->arrived(state, why);
  } catch (std::bad_alloc const&) {
    print(why);
    return;
  }
  bell_.ring_for_continuations();
}

void posted_errors::report_poison(std::exception_ptr const& why) noexcept {
  if (poison_reported_.exchange(true, std::memory_order_relaxed)) { return; }
  bool is_any_open = false;
  tasks_.for_each_open([&](slot_address task) {
    is_any_open = tasks_.at(task).posted.load(std::memory_order_relaxed);
    return !is_any_open;
  });
  if (is_any_open) { report(why); }
}

}  // namespace flotilla::dispatch
