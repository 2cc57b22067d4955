// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes streams of the application wait for tasks.

#include <cuda.h>

#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

#include "dispatch/lane/wait_flags.hpp"
#include "dispatch/waiting/task_query.hpp"
#include "dispatch/waiting/waits.hpp"

namespace flotilla::dispatch {

/// All streams of a context share a few hardware connections. A stream that waits blocks the other
/// streams on its connection. If the task still needs that connection, this is a deadlock.
///
/// - All work of a *launched* task is already in its streams. So the stream may wait for the task's
///   completion number. The device ends the wait.
/// - A task that is not launched may still need every connection of its context. If the stream may
///   share connections with it, the calling thread therefore waits until the task is launched.
/// - An owned context has connections of its own. So a stream of another context waits for a *flag*
///   in pinned memory, which a continuation of the task raises.
///
/// Behind each wait, the stream writes a word, its *receipt*. When the runtime ends, it waits for
/// the receipts, because a stream that waits reads memory of the runtime. An event would need a
/// current context, and could outlive its context.
///
/// Threads: any.
class stream_waits {
 public:
  using flag = wait_flags::flag;
  struct parts {
    runtime_parts const& shared;
    device_set const& devices;
    task_query const& query;
    driver::table const& api;  // of the process: streams of the application belong to it
    waiter const& waiting;
    deadlock_detector& deadlocks;
    wait_flags& flags;
  };
  explicit stream_waits(parts const& with) : parts_(with) {}
  stream_waits(stream_waits const&) = delete;
  stream_waits& operator=(stream_waits const&) = delete;

  /// Allocates the flags and receipts. The context of the host device must be current.
  /// @throws driver_error, std::bad_alloc
  void create();
  /// Keeps the runtime from ending. Hold it during all other calls.
  [[nodiscard]] continuation_table::use keep_runtime() const noexcept {
    return continuation_table::use{parts_.shared.continuations};
  }
  /// Refuses streams that cannot wait: a stream that captures work, or an invalid handle.
  /// @return whether the stream may share connections with a context of this runtime.
  /// @throws invalid_argument, driver_error
  [[nodiscard]] bool check(CUstream stream) const;
  /// Waits until the task is launched or has ended.
  /// @throws would_deadlock
  void wait_until_launched(task_id const& task) const;
  /// Makes the stream wait for the task if the task is launched. Does nothing if it has ended.
  /// @return false if the task is not launched and has not ended.
  /// @throws driver_error
  [[nodiscard]] bool enqueue_if_launched(task_id const& task, CUstream stream);
  /// Takes a flag for one task, or returns an empty optional if all flags are in use. More flags
  /// are never allocated: the driver may delay an allocation of pinned memory until the device is
  /// idle, and a stream that waits keeps the device busy.
  [[nodiscard]] std::optional<flag> take() noexcept { return parts_.flags.take(); }
  /// Makes the stream wait until the flag is raised.
  /// @throws driver_error
  void enqueue(flag const& one, CUstream stream);
  /// Raises the flag. It may then be taken again. Never waits for the driver.
  void raise(flag const& one) noexcept { parts_.flags.raise(one); }
  /// Waits until no stream uses memory of this runtime any more. Call it after all tasks have ended
  /// and all flags were raised.
  /// @param is_poisoned  After a fault, streams write no receipts. So do not wait, and do not free
  /// the memory that they might read.
  void finish(bool is_poisoned) noexcept;
  /// Frees the flags and receipts. The context of the host device must be current.
  void destroy() noexcept;

 private:
  struct receipt {
    flag written;
    CUcontext context;  // of the stream
    unsigned long long context_id;
  };
  // A list, so that a node exists before the wait is in the stream. Then nothing may fail any more.
  using receipt_list = std::list<receipt>;
  /// Takes a receipt for a wait of the stream. Recycles receipts that are written.
  /// @return a list of one receipt, or an empty list if all are in use.
  /// @throws driver_error, std::bad_alloc
  [[nodiscard]] receipt_list take_receipt(CUstream stream);
  /// Calls `wait`, which makes the stream wait, and makes the stream write a receipt. Without a
  /// receipt, the memory is never freed.
  /// @throws driver_error
  template <class Wait>
  void enqueue_with_receipt(CUstream stream, Wait const& wait);
  /// Returns whether the stream has passed the wait, or its context is gone.
  [[nodiscard]] bool has_passed(receipt const& one, bool check_context) const noexcept;
  [[nodiscard]] unsigned long long id_of(CUcontext context) const noexcept;

  parts const parts_;
  std::uint64_t* words_ = nullptr;  // the memory of flags and receipts
  std::mutex receipts_mutex_;
  std::vector<flag> free_receipts_;  // guarded by receipts_mutex_, and so are the next two
  receipt_list open_receipts_;
  bool must_leak_ = false;  // a stream may wait without a receipt
};

}  // namespace flotilla::dispatch
