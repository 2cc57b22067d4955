// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "thread_team.hpp"

#include <utility>

namespace block_digest {

thread_team::thread_team(unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) {
    threads_.emplace_back([this](std::stop_token const& stop) { work(stop); });
  }
}

void thread_team::execute(flotilla::executor_job job) {
  std::lock_guard const lock{mutex_};
  jobs_.push_back(std::move(job));
  added_.notify_one();
}

void thread_team::work(std::stop_token const& stop) {
  for (;;) {
    flotilla::executor_job next;
    {
      std::unique_lock lock{mutex_};
      if (!added_.wait(lock, stop, [this] { return !jobs_.empty(); })) { return; }
      next = std::move(jobs_.front());
      jobs_.pop_front();
    }
    next();
  }
}

}  // namespace block_digest
