// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/task/failure.hpp"

#include <flotilla/error/error.hpp>

namespace flotilla::dispatch {

namespace {

std::string text_of(std::exception_ptr const& error) {
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& known) { return known.what(); } catch (...) {
    return "an exception that is not a std::exception";
  }
}

}  // namespace

std::shared_ptr<failure const> make_failure(std::exception_ptr error,
                                            std::shared_ptr<failure const> cause) {
  std::string text = text_of(error);
  if (cause != nullptr && cause->depth >= failure::max_depth) {
    cause = cause->shared_first_cause();
  }
  unsigned const depth = cause == nullptr ? 0 : cause->depth + 1;
  return std::make_shared<failure const>(
      failure{std::move(error), std::move(text), std::move(cause), depth});
}

std::shared_ptr<failure const> make_failure_of(std::string const& task, std::exception_ptr error) {
  std::string text = task + " threw: " + text_of(error);
  return std::make_shared<failure const>(failure{std::move(error), std::move(text), nullptr, 0});
}

std::shared_ptr<failure const> make_spreading_failure(std::exception_ptr error) {
  auto const plain = make_failure(std::move(error));
  return std::make_shared<failure const>(failure{plain->error, plain->text, nullptr, 0, true});
}

std::shared_ptr<failure const> make_dependency_failure(std::string const& task,
                                                       std::shared_ptr<failure const> cause) {
  if (cause->depth >= failure::max_depth) { cause = cause->shared_first_cause(); }
  if (cause->spreads) {
    return std::make_shared<failure const>(
        failure{cause->error, cause->text, cause, cause->depth + 1, true});
  }
  std::string const text = task + " did not run because a task in `after` failed; first cause: " +
                           cause->first_cause().text;
  return make_failure(std::make_exception_ptr(dependency_failed(text, cause->error)), cause);
}

std::shared_ptr<failure const> make_cancellation(std::string const& task, generation_word word) {
  if (word.expired()) {
    return make_failure(
        std::make_exception_ptr(timed_out(task + " did not begin before its deadline")));
  }
  return make_failure(
      std::make_exception_ptr(task_cancelled(task + " was cancelled before it was launched")));
}

void failure_table::put(slot_address slot, std::uint64_t generation,
                        std::shared_ptr<failure const> why, bool keep) {
  std::lock_guard const lock{mutex_};
  if (keep) { kept_.insert_or_assign(key(slot, generation), why); }
  entries_.insert_or_assign(key(slot, generation), std::move(why));
  count_.store(entries_.size() + kept_.size(), std::memory_order_relaxed);
}

std::shared_ptr<failure const> failure_table::get(slot_address slot,
                                                  std::uint64_t generation) const {
  if (empty()) { return nullptr; }
  std::lock_guard const lock{mutex_};
  for (map const* entries : {&entries_, &kept_}) {
    auto const found = entries->find(key(slot, generation));
    if (found != entries->end()) { return found->second; }
  }
  return nullptr;
}

void failure_table::erase_from(map& entries, slot_address slot, std::uint64_t generation) {
  // Declared before the lock, so that its destructor runs after the unlock. The destructor may
  // destroy an exception, which runs user code.
  std::shared_ptr<failure const> last;
  std::lock_guard const lock{mutex_};
  auto const found = entries.find(key(slot, generation));
  if (found == entries.end()) { return; }
  last = std::move(found->second);
  entries.erase(found);
  count_.store(entries_.size() + kept_.size(), std::memory_order_relaxed);
}

}  // namespace flotilla::dispatch
