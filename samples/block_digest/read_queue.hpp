// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The queue from the planner to the readers.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>

#include "read_job.hpp"

namespace block_digest {

/// Limits how far the planner is ahead of the recorded results. So the memory for jobs, and for
/// results that wait for earlier results, is independent of the size of the input.
///
/// Threads: any.
class read_queue {
 public:
  /// @param max_open  The maximum number of jobs that are not recorded yet.
  explicit read_queue(std::size_t max_open) : max_open_{max_open} {}

  /// Adds a job. Waits while too many jobs are open. If a stop is requested, drops the job.
  void push(read_job&& job, std::stop_token const& stop);
  /// Returns the next job. Waits for one. Empty if there will be no more, or a stop is requested.
  [[nodiscard]] std::optional<read_job> pop(std::stop_token const& stop);
  /// The results of so many jobs were recorded.
  void note_recorded(std::size_t jobs);
  /// There will be no more jobs. Waits until all jobs are recorded, or a stop is requested.
  void close_and_wait(std::stop_token const& stop);

 private:
  std::mutex mutex_;  // guards everything below
  std::condition_variable_any changed_;
  std::deque<read_job> jobs_;
  std::size_t const max_open_;
  std::size_t open_ = 0;
  bool closed_ = false;
};

}  // namespace block_digest
