// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Submits host tasks: functions that run without a context after their predecessors have ended.

#include <memory>

#include <flotilla/task/completion.hpp>
#include <flotilla/task/task_options.hpp>
#include <flotilla/task/ticket.hpp>

#include "dispatch/runtime/continuations.hpp"
#include "dispatch/submission/submitter.hpp"

namespace flotilla::dispatch {

/// The implementation of flotilla::submit_host. A host task has a slot in the window of tasks for
/// any device, so other tasks can run after it, and a continuation that watches its predecessors.
/// The thread that runs the continuation ends the task. Threads: any.
class host_submitter {
 public:
  struct config {
    runtime_parts const& shared;
    detail::runtime_impl& owner;
    usage_guard const& usage;
    validation const& valid;
    place_table const& places;
    slot_taker const& slots;
    submitter const& tasks;
    submit_checks* checks;  // null: no checks
    continuations const& after;
  };
  explicit host_submitter(config const& with) noexcept : with_(with) {}

  /// Submits a host task. Returns false if the window is full and the call gives up. In that case
  /// `what` is unchanged.
  /// @param what     Runs once. Its argument means nothing.
  /// @param options  A task_options or flow_task_options.
  /// @param ticket   Receives the ticket. If null, the task is posted.
  /// @throws the exceptions of flotilla::submit_host
  template <class Options>
  bool submit(std::unique_ptr<detail::continuation>& what, Options const& options,
              when_full if_full, ticket* ticket) const;

 private:
  class call;

  void fill(slot_address task, task_options const& options) const;

  config const with_;
};

}  // namespace flotilla::dispatch
