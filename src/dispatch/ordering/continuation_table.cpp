// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/ordering/continuation_table.hpp"

#include <cstdio>

#include "base/fork_guard.hpp"
#include "base/tbb_bridge.hpp"
#include "dispatch/task/failure.hpp"

namespace flotilla {
inline namespace v0_1 {
namespace detail {

completion_state::~completion_state() {
  if (threw && !asked.load(std::memory_order_relaxed)) {
    try {
      std::fprintf(
          stderr,
          "flotilla: a continuation threw, and no thread asked its completion for the error: %s\n",
          dispatch::make_failure(error)->text.c_str());
    } catch (...) {  // not enough memory for the text
      std::fprintf(
          stderr,
          "flotilla: a continuation threw, and no thread asked its completion for the error\n");
    }
  }
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla

namespace flotilla::dispatch {

namespace {

/// A continuation that is running on this thread.
struct frame {
  continuation_table const* table;
  frame const* outer;
};
thread_local frame const* innermost = nullptr;

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
  if (state->callable == nullptr) {
    finish(*state);
    return;
  }
  (last_due_ == nullptr ? first_due_ : last_due_->next_due) = state;
  last_due_ = state.get();
  due_.fetch_add(1, std::memory_order_seq_cst);
}

void continuation_table::finish(completion_state& state) {
  for (state_ptr const& dependent : state.dependents) { arrive(dependent, state.error); }
  state.dependents.clear();                           // the list of due states owns them now
  state.done.store(true, std::memory_order_release);  // pairs with the acquire of every reader
}

bool continuation_table::depend(state_ptr const& state, state_ptr const& dependent) {
  std::lock_guard const lock{mutex_};
  if (state->done.load(std::memory_order_relaxed)) { return false; }
  state->dependents.push_back(dependent);
  return true;
}

bool continuation_table::run_due() {
  constexpr int max_runs = 64;
  if (!any_due() || inside()) { return false; }
  bool ran = false;
  for (int i = 0; i < max_runs; ++i) {
    // Create `here` before the state is taken. Otherwise `end` could run between these two steps,
    // and see neither a due state nor a user.
    use const here{*this};
    state_ptr next;
    {
      std::lock_guard const lock{mutex_};
      if (first_due_ == nullptr) { break; }
      next = std::move(first_due_);
      first_due_ = std::move(next->next_due);
      if (first_due_ == nullptr) { last_due_ = nullptr; }
      due_.fetch_sub(1, std::memory_order_seq_cst);
    }
    run(next);
    ran = true;
  }
  return ran;
}

void continuation_table::run(state_ptr const& state) {
  frame const mine{state->table.get(), innermost};
  innermost = &mine;
  std::uint32_t const process = base::fork_generation();
  // Isolate the callable: while its user code waits inside oneTBB, oneTBB must not run another job
  // of flotilla on this thread.
  base::isolated(
      [](void* argument) {
        completion_state& due = *static_cast<completion_state*>(argument);
        // No other thread accesses the error until the state is done, so no lock is needed.
        std::unique_ptr<detail::continuation> callable = std::move(due.callable);
        std::exception_ptr thrown;
        try {
          callable->run(std::exchange(due.error, nullptr));
        } catch (...) { thrown = std::current_exception(); }
        callable.reset();  // the destructor is also user code
        // release: pairs with the acquire in ~failure
        exception_releases.fetch_add(1, std::memory_order_release);
        due.threw = thrown != nullptr;
        due.error = std::move(thrown);
      },
      state.get());
  base::end_returning_child(process, "a continuation");
  innermost = mine.outer;
  if (state->table == nullptr) {
    // release: pairs with the acquire of every reader
    state->done.store(true, std::memory_order_release);
    return;
  }
  std::lock_guard const lock{state->table->mutex_};
  state->table->finish(*state);
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
