// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tasks of a flow whose failure matters to later tasks.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include <flotilla/task/task_id.hpp>

#include "dispatch/device/runtime_parts.hpp"
#include "dispatch/waiting/task_query.hpp"

namespace flotilla::flows {

/// The task that has written a replica, or will write it. Each replica that names it owns it.
struct writer {
  /// When the task will end, for the choice of devices (device_choice).
  struct forecast {
    static constexpr unsigned unknown = static_cast<unsigned>(-1);
    unsigned device = unknown;
    double end_ns = 0;  // when the queue of the device has ended tasks of this time
  };
  task_id task{};
  std::uint32_t owners = 0;
  forecast expected{};
  writer* next = nullptr;  // in a list of the table
};

/// Owns all writers of a flow. While a writer has an owner, the runtime keeps the failure of its
/// task, so that later tasks can depend on the task even if it ended long ago. After that, the
/// failure is retired as soon as the task has ended: tasks that were submitted before may still
/// depend on it. Threads: the caller holds the flow's mutex.
class writer_table {
 public:
  writer_table(dispatch::runtime_parts const& shared, dispatch::task_query const& query)
      : shared_(shared), query_(query) {}
  writer_table(writer_table const&) = delete;
  writer_table& operator=(writer_table const&) = delete;

  /// Returns a writer without a task. @throws std::bad_alloc
  [[nodiscard]] writer& add();
  /// Takes back a writer that never had an owner.
  void give_back(writer& unused) noexcept;
  /// Returns the writer of a task, without owners; null if submit() returned nothing.
  /// @param submit  Submits the task. Returns its id, or nothing if a window is full.
  template <class Submit>
  [[nodiscard]] writer* add_if(Submit const& submit) {
    writer& made = add();
    std::optional<task_id> task;
    try {
      task = submit();
    } catch (...) {
      give_back(made);
      throw;
    }
    if (!task) {
      give_back(made);
      return nullptr;
    }
    made.task = *task;
    return &made;
  }
  /// Removes an owner. Does nothing if `which` is null.
  void release(writer* which) noexcept;

 private:
  /// Removes writers from the list of those without owners, if their tasks have ended. Tasks
  /// usually end in the order of their submission, so it looks at the oldest ones first. If the
  /// oldest one does not end, it looks at all of them from time to time, so that the list stays
  /// shorter than about twice the number of open tasks.
  void remove_ended() noexcept;
  void retire_failure(task_id const& task) const noexcept;

  static constexpr std::size_t first_limit = 1024;
  dispatch::runtime_parts const& shared_;
  dispatch::task_query const& query_;
  std::deque<writer> all_;
  writer* free_ = nullptr;
  // The writers without owners whose tasks may not have ended, the oldest first.
  writer* first_ = nullptr;
  writer* last_ = nullptr;
  std::size_t size_ = 0;
  std::size_t limit_ = first_limit;  // if there are more, look at all of them
};

}  // namespace flotilla::flows
