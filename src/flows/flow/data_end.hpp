// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The end of data.

#include <memory>
#include <optional>

#include <flotilla/task/task_id.hpp>

#include "flows/data/datum.hpp"

namespace flotilla::flows {

class flow_state;

/// Ends data of a flow: writes them back, waits for the tasks that use memory of the program, and
/// gives the other memory back to the flow. Threads: any.
class data_end {
 public:
  /// Ends data. Tasks may still use memory that the flow has allocated for them.
  static void retire(std::unique_ptr<detail::datum> which) noexcept;

  explicit data_end(flow_state& of) noexcept : flow_(of) {}
  /// See data::set_write_back.
  void set_write_back(detail::datum& which, bool on);
  /// See detail::wait_until_unused.
  void wait_until_unused(detail::datum& which);
  /// See detail::is_used.
  [[nodiscard]] bool is_used(detail::datum& which);

 private:
  /// Writes data back that end now. If that is impossible, a message says why.
  void write_back_or_warn(detail::datum& which) noexcept;
  /// Waits until nothing uses the memory of the program, and gives the other memory back. Both
  /// under one lock: in between, the flow could evict the data to this memory.
  void release(detail::datum& which) noexcept;
  /// Begins to copy the newest contents to the memory of the program, if that is due.
  /// @throws would_deadlock, and the exceptions of data::prefetch_to_host
  void start_write_back(detail::datum& which);
  /// Returns whether the data are written back, and the memory of the program is not the newest.
  [[nodiscard]] bool is_write_back_due(detail::datum& which);
  /// Returns whether the calling thread runs a callable or host task of the runtime.
  [[nodiscard]] bool is_inside_task() const noexcept;
  /// Returns a task for which `wait_until_unused` would wait.
  [[nodiscard]] std::optional<task_id> open_task(detail::datum& which);

  flow_state& flow_;
};

}  // namespace flotilla::flows
