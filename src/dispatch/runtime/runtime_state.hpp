// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The internal state of a runtime: its parts, in the order of their construction.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <flotilla/runtime.hpp>
#include <flotilla/settings/settings_report.hpp>

#include "base/numa_nodes.hpp"
#include "base/sharded_count.hpp"
#include "context/description.hpp"
#include "context/leased_context.hpp"
#include "context/peers.hpp"
#include "context/plan.hpp"
#include "dispatch/fault/kernel_describer.hpp"
#include "dispatch/runtime/attachment.hpp"
#include "dispatch/runtime/continuations.hpp"
#include "dispatch/runtime/event_source.hpp"
#include "dispatch/runtime/host_submitter.hpp"
#include "dispatch/runtime/memory.hpp"
#include "dispatch/runtime/program_loader.hpp"
#include "dispatch/runtime/stream_waits.hpp"
#include "dispatch/runtime/ticket_count.hpp"
#include "dispatch/runtime/trace_control.hpp"
#include "dispatch/runtime/worker_pool.hpp"
#include "dispatch/submission/bulk_submitter.hpp"
#include "dispatch/submission/recorder.hpp"
#include "dispatch/submission/submitter.hpp"
#include "dispatch/waiting/waits.hpp"

namespace flotilla::dispatch {

/// Each part may use only parts that are declared above it. A runtime_state lives until the runtime
/// object and the last ticket are gone.
class runtime_state final : public detail::runtime_impl {
 public:
  /// Builds all parts. If that fails, frees all resources and throws the exceptions of
  /// runtime::runtime.
  explicit runtime_state(runtime_options options, tuning const& tuned = {});
  runtime_state(runtime_state const&) = delete;
  runtime_state& operator=(runtime_state const&) = delete;
  /// Closes the runtime, waits until all tasks and continuations have ended, and frees the
  /// resources. Then deletes `runtime` if no ticket is left.
  static void end(runtime_state& runtime) noexcept;
  /// Whether `end` has freed the resources. After that, only tickets keep the object.
  [[nodiscard]] bool has_ended() const noexcept {
    return has_ended_.load(std::memory_order_relaxed);
  }
  /// Drops a ticket. Deletes `runtime` if the runtime has ended and this was the last ticket.
  static void drop_ticket(runtime_state& runtime, slot_address slot,
                          std::uint64_t generation) noexcept;
  [[nodiscard]] static runtime_state& of(detail::runtime_impl& impl) noexcept {
    return static_cast<runtime_state&>(impl);
  }

  // ---- waiting; threads: any ----

  /// Returns whether the task has ended. Pumps once in single-threaded mode.
  [[nodiscard]] bool ready(task_id const& id);
  /// Waits until the task has ended, and throws the error of the task. @return false if the
  /// deadline has passed.
  bool wait(task_id const& id, std::optional<wait_policy> policy, waiter::deadline until);
  /// Waits until one of the tasks has ended. @return the index of that task; empty if the deadline
  /// has passed.
  [[nodiscard]] std::optional<std::size_t> wait_any(std::span<task_id const> ids,
                                                    waiter::deadline until);
  void wait_idle();
  /// Drains every device whose lease is free, and runs due continuations. @return whether a task or
  /// a continuation is open.
  /// @param clears_events  Whether the call is `runtime::pump`, which clears the signal of
  ///                       `event_fd`. Other calls must leave the signal as it is.
  bool pump(bool clears_events);
  /// Calls `pump(false)` in single-threaded mode, except inside a callable.
  void pump_if_single_threaded();

  // ---- questions; threads: any ----

  [[nodiscard]] std::span<device const> infos() const noexcept { return chosen_.devices; }
  [[nodiscard]] std::string const& driver_text() const noexcept { return chosen_.text; }
  [[nodiscard]] std::shared_ptr<driver::table const> const& api() const noexcept {
    return chosen_.api;
  }
  [[nodiscard]] device_settings effective_settings(unsigned device) const;
  [[nodiscard]] settings_report report_settings(unsigned device) const;
  [[nodiscard]] device_counters counters(unsigned device) const;
  [[nodiscard]] recorder::config recording_parts() const noexcept;

 private:
  runtime_options options_;
  tuning const tuned_;
  context::choice chosen_;
  base::numa_nodes const numa_;
  std::vector<context::request> requests_;
  unsigned const host_device_;  // context::host_device
  doorbell bell_;
  std::deque<context::leased_context> contexts_;
  std::vector<context::context_handle const*> handles_;  // pointers into contexts_
  task_table tasks_;
  epoch_reclaimer reclaimer_;
  failure_table failures_;
  shared_queue shared_queue_;
  completion_board board_;
  kernel_table kernels_;
  // Shared, because recordings may outlive the runtime.
  std::shared_ptr<progress_words> const progress_;
  recorded_parts recordings_;
  replay_turns turns_;
  host_tasks hosts_;
  host_work host_work_;
  dependencies order_;
  // Shared, because jobs of an executor may outlive the runtime.
  std::shared_ptr<continuation_table> const table_;
  bulk_table bulks_;
  chunk_memories chunks_;
  base::sharded_count tickets_;
  deadline_queue deadlines_;
  // Null in single-threaded mode.
  std::unique_ptr<continuation_threads> const threads_;
  posted_errors posted_;
  tracer trace_;
  pollers pollers_;
  task_end ends_;
  task_text text_;
  lost_devices lost_;
  wait_flags flags_;
  fault_monitor faults_;
  kernel_describer describer_;
  stuck_devices stuck_;
  slow_waits long_waits_;
  overdue_tasks overdue_;
  slow_call_report slow_calls_;
  runtime_parts const shared_;
  std::deque<device_inbound> inbounds_;

 public:
  context::peer_table const peers;
  usage_guard usage;
  device_set devices;
  policy_table policies;
  task_query query;
  continuation_runner runner;
  event_source events;
  waiter waits;
  deadlock_detector deadlocks;
  control operations;
  validation valid;
  place_table places;
  slot_taker slots;
  std::unique_ptr<submit_checks> checks;  // null if the runtime makes no checks
  submitter tasks;
  trace_control traces;
  chunk_limits const limits_of_chunks;
  bulk_submitter bulks;
  program_loader programs;
  dispatch::memory memory;
  dispatch::stream_waits stream_waits;
  dispatch::continuations continuations;
  host_submitter host;
  attachment default_flow;

 private:
  ~runtime_state();
  /// Returns runtime_options::on_error, or a handler that tells the checks about the call first.
  [[nodiscard]] std::function<void(std::exception_ptr)> error_handler();
  void add_device(unsigned index);
  /// @param is_kept  Whether other threads may still use the runtime, because the process ends.
  void shut_down(bool is_kept) noexcept;
  void destroy_callables() noexcept;
  [[nodiscard]] bool is_inside_callable() const noexcept;

  std::atomic<bool> has_ended_{false};
  std::deque<std::optional<context::lease>>
      kept_leases_;  // by device; empty until the process ends
  ticket_count ticket_count_;
  worker_homes homes_;

 public:
  worker_pool workers;  // last member, because its threads use the others
};

/// Returns whether the calling thread is inside a callable, host task or continuation of the
/// runtime, where it must not wait for tasks that may depend on it.
[[nodiscard]] bool is_inside_user_code(runtime_state const& of) noexcept;

/// Returns what the public classes need to know about a kernel.
[[nodiscard]] inline detail::kernel_ref ref_of(runtime_state& state,
                                               std::uint32_t kernel) noexcept {
  return {&state, kernel, state.checks != nullptr, state.programs.kernel(kernel).has_clusters};
}

}  // namespace flotilla::dispatch
