// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The thread that starts workers and notices their ends.

#include <poll.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "isolation/channel/sealed_memory.hpp"
#include "isolation/owner/worker_process.hpp"

namespace flotilla::isolated {

/// One for the process, never destroyed: the workers end when its thread ends. Threads: any.
class supervisor {
 public:
  /// @throws driver_error  The system refuses what it needs.
  supervisor();

  /// Starts a worker. @throws driver_error
  [[nodiscard]] std::shared_ptr<worker_process> start(std::string const& program, int host_memory);
  /// The number of workers that have not been reaped.
  [[nodiscard]] std::size_t running() const;

 private:
  void run() noexcept;
  /// Waits for an order or the end of a worker, and reaps what has ended. Needs no memory, because
  /// the successor of a worker waits for its end.
  void wait() noexcept;
  /// Makes room for this number of workers. Call it with the lock, on the thread of the supervisor
  /// once that runs.
  void reserve(std::size_t workers);
  void wake() noexcept;

  descriptor bell_;  // an eventfd
  std::mutex mutable mutex_;
  std::vector<std::function<void()>> orders_;             // guarded by mutex_
  std::vector<std::shared_ptr<worker_process>> workers_;  // guarded by mutex_
  // Of the thread:
  std::vector<std::shared_ptr<worker_process>> polled_;
  std::vector<pollfd> waits_;
};

}  // namespace flotilla::isolated
