// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes streams of the application wait for tasks.

#include <cuda.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "dispatch/waiting/task_query.hpp"
#include "dispatch/waiting/waits.hpp"

namespace flotilla::dispatch {

/// All streams of a context share a few hardware connections. A stream that waits blocks the other
/// streams on its connection. If the task still needs that connection, this is a deadlock.
///
/// - All work of a *launched* task is already in its streams. So the stream may wait for the task's
///   completion number. The device ends the wait.
/// - A task that is not launched may still need every connection of its context. If the stream
///   belongs to the same context, the calling thread therefore waits until the task is launched.
/// - Different contexts share no connections. So a stream of another context waits for a *flag* in
///   pinned memory, which a continuation of the task raises.
///
/// Threads: any.
class stream_waits {
 public:
  /// A word that becomes `number` when the task has ended. Numbers only grow, so a word can be used
  /// again at once, even while a stream still waits for a lower number.
  struct flag {
    std::uint64_t* word;
    std::uint64_t number;
  };
  struct parts {
    runtime_parts const& shared;
    device_set const& devices;
    task_query const& query;
    driver::table const& api;
    waiter const& waiting;
    deadlock_detector& deadlocks;
  };
  explicit stream_waits(parts const& with) : parts_(with) {}
  stream_waits(stream_waits const&) = delete;
  stream_waits& operator=(stream_waits const&) = delete;

  /// Allocates the flags. The context of the first device must be current.
  /// @throws driver_error, std::bad_alloc
  void create();
  /// Refuses streams that cannot wait: a stream that captures work, or an invalid handle.
  /// @return whether the stream belongs to a context of this runtime.
  /// @throws invalid_argument, driver_error
  [[nodiscard]] bool check(CUstream stream) const;
  /// Waits until the task is launched or has ended.
  /// @throws would_deadlock
  void wait_until_launched(task_id const& task) const;
  /// Makes the stream wait for the task if the task was launched. @return whether that is so.
  /// @throws driver_error
  [[nodiscard]] bool enqueue_if_launched(task_id const& task, CUstream stream);
  /// Takes a flag for one task, or returns an empty optional if all flags are in use. More flags are
  /// never allocated: the driver may delay an allocation of pinned memory until the device is idle,
  /// and a stream that waits keeps the device busy.
  [[nodiscard]] std::optional<flag> take();
  /// Makes the stream wait until the flag is raised.
  /// @throws driver_error
  void enqueue(flag const& one, CUstream stream);
  /// Raises the flag. It may then be taken again.
  void raise(flag const& one) noexcept;
  /// Waits until no stream uses memory of this runtime any more. Call it after all tasks have ended
  /// and all flags were raised.
  void finish() noexcept;
  /// Frees the flags. The context of the first device must be current.
  void destroy() noexcept;

 private:
  /// An event behind the latest wait of a stream.
  struct passed {
    CUcontext context;
    CUevent event;
  };
  /// Records an event behind the wait, for `finish`.
  void note_wait(CUcontext context, CUstream stream);

  parts const parts_;
  std::mutex mutex_;
  std::vector<flag> free_;  // guarded by mutex_, and so is waits_
  std::vector<passed> waits_;
  std::uint64_t* words_ = nullptr;  // the memory of the flags
};

}  // namespace flotilla::dispatch
