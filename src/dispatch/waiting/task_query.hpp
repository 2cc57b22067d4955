// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Answers questions about submitted tasks.

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#include <flotilla/device/device.hpp>
#include <flotilla/task/ticket.hpp>

#include "base/process_end.hpp"
#include "dispatch/device/runtime_parts.hpp"

namespace flotilla::dispatch {

/// Reads the state of submitted tasks, and cancels tasks. Threads: any.
class task_query {
 public:
  explicit task_query(runtime_parts const& shared) noexcept : shared_(shared) {}

  /// Returns whether the task has ended, with or without an error. Cost: three loads.
  [[nodiscard]] bool has_ended(task_id const& id) const noexcept;
  /// Returns whether a function or copy of the open task in this slot runs on the host, or must
  /// run, although the runtime is poisoned: it may use what a waiting thread owns. Call it after
  /// the look at the poison. A callable may never return while the process ends, so for the thread
  /// that ends the process, no callable counts.
  [[nodiscard]] bool runs_on_host(slot_address task) const noexcept {
    return shared_.hosts.must_run(task) ||
           (shared_.on_host.uses(task) && !base::this_thread_ends_process());
  }
  /// Returns whether the task was launched or has ended.
  [[nodiscard]] bool was_launched(task_id const& id) const noexcept {
    return shared_.tasks.at(id.slot).end.load(std::memory_order_acquire) != 0;
  }
  /// Cancels the task if it is not launched yet, and ends it. @return whether the task never runs.
  [[nodiscard]] bool cancel(task_id const& id) const;
  /// Returns the failure of an ended task, or null if the task succeeded.
  [[nodiscard]] std::shared_ptr<failure const> failure_of(task_id const& id) const;
  [[nodiscard]] std::exception_ptr error_of(task_id const& id) const;
  /// Returns the device that has or had the task, or std::nullopt if the device is not known.
  /// @param known  The device that the ticket remembers: 1 + the device index, or 0. This function
  /// updates `known`.
  [[nodiscard]] std::optional<device_ordinal> device_of(task_id const& id,
                                                        std::uint32_t& known) const noexcept;

 private:
  runtime_parts const& shared_;
};

}  // namespace flotilla::dispatch
