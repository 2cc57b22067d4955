// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/ordering/continuation_table.hpp"

#include <cstddef>
#include <new>
#include <utility>

#include <flotilla/error/error.hpp>

#include "base/fork_guard.hpp"
#include "base/log.hpp"
#include "base/tbb_bridge.hpp"
#include "dispatch/task/failure.hpp"

namespace flotilla::dispatch {

namespace {

/// A continuation that is running on this thread.
struct frame {
  continuation_table const* table;
  frame const* outer;
};
thread_local frame const* innermost = nullptr;

/// Whether a job was destroyed on this thread during a call of executor::execute. Null outside of
/// such a call.
thread_local bool* dropped_in_call = nullptr;

void print(std::exception_ptr const& thrown) noexcept {
  try {
    base::log(log_level::error, "a continuation threw: " + make_failure(thrown)->text);
  } catch (...) {  // not enough memory for the text
    base::log(log_level::error, "a continuation threw");
  }
}

}  // namespace

continuation_table::use::use(continuation_table& table) noexcept : table_(table) {
  std::lock_guard const lock{table_.mutex_};
  over_ = table_.over_;
  table_.users_.fetch_add(1, std::memory_order_relaxed);
  table_.uses_.fetch_add(1, std::memory_order_relaxed);
}

continuation_table::use::~use() {
  table_.users_.fetch_sub(1, std::memory_order_release);  // pairs with the acquire in users
}

bool continuation_table::inside() const noexcept {
  for (frame const* each = innermost; each != nullptr; each = each->outer) {
    if (each->table == this) { return true; }
  }
  return false;
}

void continuation_table::watch(key task, state_ptr state) {
  std::lock_guard const lock{mutex_};
  std::vector<state_ptr>& states = watched_[task];
  try {
    states.push_back(std::move(state));
  } catch (...) {
    if (states.empty()) { watched_.erase(task); }
    throw;
  }
  watching_.store(watched_.size(), std::memory_order_seq_cst);
}

void continuation_table::task_ended(key task, std::exception_ptr const& why) {
  watch_map::node_type found;  // destroyed after the unlock, because it is declared before the lock
  std::lock_guard const lock{mutex_};
  found = watched_.extract(task);
  if (!found) { return; }
  for (state_ptr const& state : found.mapped()) { arrive(state, why); }
  watching_.store(watched_.size(), std::memory_order_seq_cst);
}

void continuation_table::arrived(state_ptr const& state, std::exception_ptr const& why) {
  std::lock_guard const lock{mutex_};
  arrive(state, why);
}

void continuation_table::arrive(state_ptr const& state, std::exception_ptr const& why) {
  if (state->error == nullptr) { state->error = why; }
  if (--state->left != 0) { return; }
  if (state->immediate) {
    state->callable->run(state->error);
    state->callable.reset();
    return;
  }
  add_due(state);
}

void continuation_table::add_due(state_ptr const& state) noexcept {
  (last_due_ == nullptr ? first_due_ : last_due_->next_due) = state;
  last_due_ = state.get();
  due_.fetch_add(1, std::memory_order_seq_cst);
}

bool continuation_table::run_next() {
  if (!any_due() || inside()) { return false; }
  state_ptr next;
  {
    std::lock_guard const lock{mutex_};
    if (first_due_ == nullptr) { return false; }
    next = std::move(first_due_);
    first_due_ = std::move(next->next_due);
    if (first_due_ == nullptr) { last_due_ = nullptr; }
    // Begin the use in the same step. Otherwise `end` could run between the two steps, and see
    // neither a due state nor a user.
    users_.fetch_add(1, std::memory_order_relaxed);
    uses_.fetch_add(1, std::memory_order_relaxed);
    due_.fetch_sub(1, std::memory_order_seq_cst);
  }
  if (executor_ != nullptr && !next->refused) {
    give_to_executor(std::move(next));
    return true;
  }
  run(next);
  next.reset();
  end_use();
  return true;
}

void continuation_table::give_to_executor(state_ptr state) noexcept {
  bool dropped = false;
  bool* const outer = std::exchange(dropped_in_call, &dropped);
  try {
    executor_->execute(detail::continuation_state::make_job(std::move(state)));
    dropped_in_call = outer;
    if (dropped) { complain_of_drop(); }
  } catch (...) {
    dropped_in_call = outer;
    // The job was destroyed, which has made the callable due again, or the executor has kept it.
    if (has_complained_.exchange(true, std::memory_order_relaxed)) { return; }
    try {
      base::log(log_level::error,
                "the continuation executor threw: " + make_failure(std::current_exception())->text);
    } catch (...) {  // not enough memory for the text
      base::log(log_level::error, "the continuation executor threw");
    }
  }
}

void continuation_table::run_job(state_ptr state) {
  std::shared_ptr<continuation_table> const table = state->table;
  if (base::fork_generation() != table->process_) {
    take_back(std::move(state));
    throw used_after_fork(
        "this job belongs to a runtime of the parent process; a child of fork() cannot use it");
  }
  run(state);
  state.reset();
  // This thread runs no further callables, so wake another thread for those that are due now.
  if (table->any_due()) { table->bell_.ring_for_continuations(); }
  table->end_use();
}

void continuation_table::take_back(state_ptr state) noexcept {
  std::shared_ptr<continuation_table> const table = state->table;
  if (base::fork_generation() != table->process_) {
    // The mutex may be locked forever by a thread that does not exist in this process. Abandon the
    // state: this copy of the pointer is never destroyed.
    alignas(state_ptr) std::byte kept[sizeof(state_ptr)];
    ::new (static_cast<void*>(kept)) state_ptr(std::move(state));
    return;
  }
  {
    std::lock_guard const lock{table->mutex_};
    state->refused = true;
    table->add_due(state);
  }
  state.reset();
  if (dropped_in_call != nullptr) {
    *dropped_in_call = true;  // if the executor throws, the message has its exception
  } else {
    table->complain_of_drop();
  }
  table->bell_.ring_for_continuations();
  table->end_use();
}

void continuation_table::complain_of_drop() noexcept {
  if (!has_complained_.exchange(true, std::memory_order_relaxed)) {
    base::log(log_level::warning,
              "the continuation executor destroyed a job without running it; flotilla runs this "
              "and all further such continuations itself");
  }
}

void continuation_table::end_use() noexcept {
  bell_.note_end();
  users_.fetch_sub(1, std::memory_order_release);  // pairs with the acquire in users
}

void continuation_table::run(state_ptr const& state) {
  frame const mine{state->table.get(), innermost};
  innermost = &mine;
  std::uint32_t const process = base::fork_generation();
  // Isolate the callable: while its user code waits inside oneTBB, oneTBB must not run another job
  // of flotilla on this thread.
  base::isolated(
      [](void* argument) {
        continuation_state& due = *static_cast<continuation_state*>(argument);
        // No other thread uses a state that is due, so no lock is needed.
        std::unique_ptr<detail::continuation> callable = std::move(due.callable);
        try {
          callable->run(std::exchange(due.error, nullptr));
        } catch (...) { print(std::current_exception()); }
        callable.reset();  // the destructor is also user code
        // release: pairs with the acquire in ~failure
        exception_releases.fetch_add(1, std::memory_order_release);
      },
      state.get());
  base::end_returning_child(process, "a continuation");
  innermost = mine.outer;
}

bool continuation_table::end() noexcept {
  std::lock_guard const lock{mutex_};
  // acquire: pairs with the release in ~use
  if (!watched_.empty() || first_due_ != nullptr || users_.load(std::memory_order_acquire) != 0) {
    return false;
  }
  over_ = true;
  return true;
}

}  // namespace flotilla::dispatch
