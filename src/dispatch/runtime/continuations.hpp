#pragma once
// Attaches continuations to tasks and completions.

#include <exception>
#include <memory>
#include <span>

#include <flotilla/task/completion.hpp>

#include "dispatch/fault/usage_guard.hpp"
#include "dispatch/waiting/waiter.hpp"

namespace flotilla::dispatch {

/// Threads: any.
class continuations {
 public:
  continuations(waiter const& waiter, usage_guard const& usage,
                std::shared_ptr<continuation_table> table) noexcept
      : waiter_(waiter), usage_(usage), table_(std::move(table)) {}

  /// `callable` runs once, after the task.
  [[nodiscard]] std::shared_ptr<completion_state> after(
      task_id id, std::unique_ptr<detail::continuation> callable) const;
  /// `callable` runs once, after `state`. The runtime may have ended.
  [[nodiscard]] static std::shared_ptr<completion_state> after(
      std::shared_ptr<completion_state> const& state, continuations const* runtime,
      std::unique_ptr<detail::continuation> callable);
  /// A state that is done when all these tasks have ended. @param tasks  at least one
  [[nodiscard]] std::shared_ptr<completion_state> after_all(std::span<task_id const> tasks) const;
  /// Ends continuations with the runtime: waits until nothing is open any more.
  void end() const noexcept;

 private:
  void watch(task_id id, std::shared_ptr<completion_state> const& state) const;

  waiter const& waiter_;
  usage_guard const& usage_;
  std::shared_ptr<continuation_table> const table_;  // completions may outlive the runtime
};

}  // namespace flotilla::dispatch
