// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The threads that run host tasks.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>

namespace block_digest {

/// Runs the host tasks of a runtime on a fixed number of threads. The threads of the runtime itself
/// would not use all cores, because there are at most 8.
///
/// Lifetime: must not end on one of its own threads. So the program keeps it until its runtime has
/// ended.
class thread_team final : public flotilla::executor {
 public:
  explicit thread_team(unsigned threads);
  void execute(flotilla::executor_job job) override;

 private:
  void work(std::stop_token const& stop);

  std::mutex mutex_;  // guards jobs_
  std::condition_variable_any added_;
  std::deque<flotilla::executor_job> jobs_;
  std::vector<std::jthread> threads_;  // the last member: the threads use the members above
};

}  // namespace block_digest
