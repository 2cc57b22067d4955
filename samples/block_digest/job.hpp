// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The job: it sends the blocks of files through all steps of the program.

#include <cstddef>
#include <exception>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "batch_pool.hpp"
#include "batch_space.hpp"
#include "digest_flow.hpp"
#include "job_planner.hpp"
#include "read_queue.hpp"
#include "result_collector.hpp"

namespace block_digest {

/// Plans jobs on the calling thread. The readers fill batches and pass them to the flow. When the
/// tasks of a batch have ended, its results go to the result collector.
///
/// Memory: the batches of the pool, and the jobs and results of at most twice as many batches,
/// independent of the size of the input.
/// Threads: one.
class job {
 public:
  /// @param batches  The number of batches.
  job(flotilla::runtime& rt, batch_capacity const& capacity, std::size_t batches,
      digest_flow& devices, result_collector& results);
  ~job();
  job(job const&) = delete;
  job& operator=(job const&) = delete;

  /// Starts the threads that read.
  void start(unsigned readers);
  /// Plans to digest all blocks of a file.
  /// @throws the first error that ended the job early
  void add_file(std::string const& path);
  /// Waits until every block is recorded.
  /// @throws the first error that ended the job early
  void finish();

 private:
  void read();
  void pass_to_devices(block_batch& batch);
  void record(block_batch& batch, std::exception_ptr why) noexcept;
  void end_early(std::exception_ptr why) noexcept;
  void stop() noexcept;
  void throw_if_ended();

  flotilla::runtime& runtime_;
  digest_flow& devices_;
  result_collector& results_;
  batch_pool pool_;
  read_queue queue_;
  job_planner planner_;
  std::stop_source stop_;
  std::mutex mutex_;  // guards error_
  std::exception_ptr error_;
  std::vector<std::jthread> readers_;
};

}  // namespace block_digest
