// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Submits host tasks: functions that run without a context after their predecessors have ended, and
// tasks that somebody else ends.

#include <memory>

#include <flotilla/detail/continuation.hpp>
#include <flotilla/task/task_options.hpp>
#include <flotilla/task/ticket.hpp>

#include "dispatch/runtime/continuations.hpp"
#include "dispatch/submission/submitter.hpp"

namespace flotilla::dispatch {

/// A task that no thread runs: code of flotilla ends it at some time after its predecessors have
/// ended, for example when a message has arrived.
class pending_task {
 public:
  pending_task() = default;
  pending_task(pending_task const&) = delete;
  pending_task& operator=(pending_task const&) = delete;
  virtual ~pending_task() = default;
  /// The predecessors have ended. Runs once: on the thread that has ended the last one, under the
  /// rules of continuations::notify, or else in host_submitter::open. Later, host_submitter::end
  /// must be called for `task`.
  virtual void begin(std::unique_ptr<pending_task> self) noexcept = 0;

  slot_address task = no_slot;  // set before `begin`
};

/// Submits host tasks. A host task has a slot in the window of tasks for any device, so other tasks
/// can run after it, and a continuation that watches its predecessors. The thread that runs the
/// continuation ends the task. Threads: any.
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
  /// @param what     Runs once. Its argument is null unless it takes errors.
  /// @param options  A task_options or flow_task_options.
  /// @param ticket   Receives the ticket. If null, the task is posted.
  /// @throws the exceptions of runtime::submit for a host_task
  template <class Options>
  bool submit(std::unique_ptr<detail::continuation>& what, Options const& options,
              when_full if_full, ticket* ticket) const;
  /// Submits a pending task. As `submit`; gives up if the window is full.
  bool open(std::unique_ptr<pending_task>& what, flow_task_options const& options,
            ticket* ticket) const;
  /// Returns why a pending task that has begun must fail: a predecessor has failed, or the runtime
  /// is poisoned. Null: it need not.
  [[nodiscard]] std::shared_ptr<failure const> refusal(pending_task const& of) const;
  /// There is no memory to end a pending task: poisons the runtime, so that nothing waits for it.
  void note_out_of_memory() const noexcept { with_.shared.faults.note_out_of_memory(); }
  /// Ends a pending task that has begun. Threads: any.
  void end(pending_task const& which, std::shared_ptr<failure const> why) const noexcept;

 private:
  class call;
  class start;

  struct form {
    bool immediate;    // see continuations::prepare
    bool runs_always;  // see host_tasks::add
  };
  /// @param make  Called as make(slot, number) once a slot is taken, with the number of its entry
  ///              in host_tasks. Returns the continuation.
  template <class Options, class Make>
  bool submit_made(Make const& make, form how, Options const& options, when_full if_full,
                   ticket* ticket) const;
  /// @return no_slot if the window is full and the call gives up.
  [[nodiscard]] slot_address take(when_full if_full) const;
  /// Takes back what `take` and `fill` have done.
  void give_back(slot_address task) const noexcept;
  void fill(slot_address task, task_options const& options) const;
  /// Makes a filled slot an open task.
  template <class Options>
  void make_open(slot_address task, Options const& options, ticket* ticket) const noexcept;
  /// Submits a pending task whose predecessors have ended: no continuation has to watch them.
  bool begin_now(std::unique_ptr<pending_task>& what, flow_task_options const& options,
                 ticket* ticket) const;

  config const with_;
};

}  // namespace flotilla::dispatch
