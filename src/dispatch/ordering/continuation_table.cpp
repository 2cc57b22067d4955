#include "dispatch/continuations.hpp"

#include <cstdio>

#include "base/tbb_bridge.hpp"
#include "dispatch/failure.hpp"

namespace flotilla::dispatch {

namespace {

/// A continuation that is running on this thread.
struct frame {
  continuations const* of;
  frame const* outer;
};
thread_local frame const* innermost = nullptr;

}  // namespace

completion_state::~completion_state() {
  if (threw && !asked.load(std::memory_order_relaxed)) {
    try {
      std::fprintf(stderr, "flotilla: a continuation threw, and nobody asked its completion: %s\n",
                   failure_of(error)->text.c_str());
    } catch (...) {  // no memory for its words
      std::fprintf(stderr, "flotilla: a continuation threw, and nobody asked its completion\n");
    }
  }
}

continuations::use::use(continuations& of) noexcept : of_(of) {
  std::lock_guard const lock{of_.mutex_};
  over_ = of_.over_;
  of_.users_.fetch_add(1, std::memory_order_relaxed);
  of_.uses_.fetch_add(1, std::memory_order_relaxed);
}

continuations::use::~use() { of_.users_.fetch_sub(1, std::memory_order_release); }  // pairs with users

bool continuations::inside() const noexcept {
  for (frame const* each = innermost; each != nullptr; each = each->outer) {
    if (each->of == this) { return true; }
  }
  return false;
}

void continuations::watch(key task, state_ptr of) {
  std::lock_guard const lock{mutex_};
  std::vector<state_ptr>& states = watched_[task];
  try {
    states.push_back(std::move(of));
  } catch (...) {
    if (states.empty()) { watched_.erase(task); }
    throw;
  }
  watching_.store(watched_.size(), std::memory_order_seq_cst);
}

void continuations::task_ended(key task, std::exception_ptr const& why) {
  watch_map::node_type found;  // destroyed after the lock
  std::lock_guard const lock{mutex_};
  found = watched_.extract(task);
  if (!found) { return; }
  for (state_ptr const& each : found.mapped()) { arrive(each, why); }
  watching_.store(watched_.size(), std::memory_order_seq_cst);
}

void continuations::arrived(state_ptr const& of, std::exception_ptr const& why) {
  std::lock_guard const lock{mutex_};
  arrive(of, why);
}

void continuations::arrive(state_ptr const& of, std::exception_ptr const& why) {
  if (of->error == nullptr) { of->error = why; }
  if (--of->left != 0) { return; }
  if (of->callable == nullptr) {
    finish(*of);
    return;
  }
  (last_due_ == nullptr ? first_due_ : last_due_->next_due) = of;
  last_due_ = of.get();
  due_.fetch_add(1, std::memory_order_seq_cst);
}

void continuations::finish(completion_state& of) {
  for (state_ptr const& each : of.dependents) { arrive(each, of.error); }
  of.dependents.clear();  // they are due, and held by that list
  of.done.store(true, std::memory_order_release);  // pairs with who looks whether it has come
}

bool continuations::depend(state_ptr const& on, state_ptr const& then) {
  std::lock_guard const lock{mutex_};
  if (on->done.load(std::memory_order_relaxed)) { return false; }
  on->dependents.push_back(then);
  return true;
}

bool continuations::run_due() {
  constexpr int most = 64;
  if (!any_due() || inside()) { return false; }
  bool ran = false;
  for (int i = 0; i < most; ++i) {
    use const here{*this};  // before it is taken: at no time does it seem to be nowhere
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

void continuations::run(state_ptr const& of) {
  frame const mine{of->table.get(), innermost};
  innermost = &mine;
  // Isolated: a wait of oneTBB in user code must not run another task of ours on this thread.
  base::isolated(
    [](void* argument) {
      completion_state& what = *static_cast<completion_state*>(argument);
      // Only this thread has what is due: the error needs no lock until it is done.
      std::unique_ptr<detail::continuation> callable = std::move(what.callable);
      std::exception_ptr thrown;
      try {
        callable->run(std::exchange(what.error, nullptr));
      } catch (...) {
        thrown = std::current_exception();
      }
      callable.reset();  // user code too
      exceptions_let_go.fetch_add(1, std::memory_order_release);
      what.threw = thrown != nullptr;
      what.error = std::move(thrown);
    },
    of.get());
  innermost = mine.outer;
  if (of->table == nullptr) {
    of->done.store(true, std::memory_order_release);
    return;
  }
  std::lock_guard const lock{of->table->mutex_};
  of->table->finish(*of);
}

bool continuations::end() noexcept {
  std::lock_guard const lock{mutex_};
  if (!watched_.empty() || first_due_ != nullptr || users_.load(std::memory_order_acquire) != 0) { return false; }
  over_ = true;
  return true;
}

}  // namespace flotilla::dispatch
