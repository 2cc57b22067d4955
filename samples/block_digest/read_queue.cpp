// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "read_queue.hpp"

#include <utility>

namespace block_digest {

void read_queue::push(read_job&& job, std::stop_token const& stop) {
  std::unique_lock lock{mutex_};
  if (!changed_.wait(lock, stop, [this] { return open_ < max_open_; })) { return; }
  ++open_;
  jobs_.push_back(std::move(job));
  changed_.notify_all();
}

std::optional<read_job> read_queue::pop(std::stop_token const& stop) {
  std::unique_lock lock{mutex_};
  bool const ready = changed_.wait(lock, stop, [this] { return closed_ || !jobs_.empty(); });
  if (!ready || jobs_.empty()) { return std::nullopt; }
  std::optional<read_job> next{std::move(jobs_.front())};
  jobs_.pop_front();
  return next;
}

void read_queue::note_recorded(std::size_t jobs) {
  if (jobs == 0) { return; }
  std::lock_guard const lock{mutex_};
  open_ -= jobs;
  changed_.notify_all();
}

void read_queue::close_and_wait(std::stop_token const& stop) {
  std::unique_lock lock{mutex_};
  closed_ = true;
  changed_.notify_all();
  changed_.wait(lock, stop, [this] { return open_ == 0; });
}

}  // namespace block_digest
