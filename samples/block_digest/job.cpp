// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "job.hpp"

#include <optional>
#include <utility>

#include "reader.hpp"

namespace block_digest {

namespace {

bool is_poisoned(std::exception_ptr const& why) noexcept {
  try {
    std::rethrow_exception(why);
  } catch (flotilla::poisoned const&) { return true; } catch (...) {
    return false;
  }
}

}  // namespace

job::job(flotilla::runtime& rt, batch_capacity const& capacity, std::size_t batches,
         digest_flow& devices, result_collector& results)
    : runtime_{rt},
      devices_{devices},
      results_{results},
      pool_{rt, capacity, batches},
      queue_{2 * pool_.size()},
      planner_{capacity,
               [this](read_job&& next) { queue_.push(std::move(next), stop_.get_token()); }} {}

job::~job() { stop(); }

// Afterwards, nobody uses the batches.
void job::stop() noexcept {
  stop_.request_stop();
  readers_.clear();  // joins the threads
  try {
    runtime_.wait_idle();
  } catch (std::exception const&) {}  // the runtime cannot run tasks any more
}

void job::start(unsigned readers) {
  for (unsigned i = 0; i < readers; ++i) {
    readers_.emplace_back([this] { read(); });
  }
}

void job::add_file(std::string const& path) {
  throw_if_ended();
  planner_.add_file(path);
}

void job::finish() {
  planner_.finish();
  queue_.close_and_wait(stop_.get_token());
  throw_if_ended();
}

void job::read() {
  try {
    reader files{pool_, stop_.get_token(), [this](block_batch& batch) { pass_to_devices(batch); }};
    while (std::optional<read_job> next = queue_.pop(stop_.get_token())) {
      files.run(std::move(*next));
    }
  } catch (...) { end_early(std::current_exception()); }
}

void job::pass_to_devices(block_batch& batch) {
  if (batch.blocks() == 0) {
    record(batch, nullptr);
  } else {
    devices_.submit(batch, [this, &batch](std::exception_ptr why) { record(batch, why); });
  }
}

// If the tasks of a batch failed, its blocks have no digest, but the job goes on. If the devices
// are unusable, the job ends.
void job::record(block_batch& batch, std::exception_ptr why) noexcept {
  if (why && is_poisoned(why)) { return end_early(std::move(why)); }
  try {
    try {
      if (why) { std::rethrow_exception(why); }
    } catch (std::exception const& error) { batch.error = error.what(); }
    std::size_t const recorded = results_.add(batch);
    pool_.give_back(batch);
    queue_.note_recorded(recorded);
  } catch (...) { end_early(std::current_exception()); }
}

// If the devices are unusable, a submit may fail first, and only the tasks know the cause.
void job::end_early(std::exception_ptr why) noexcept {
  {
    std::lock_guard const lock{mutex_};
    if (!error_ || is_poisoned(why)) { error_ = std::move(why); }
  }
  stop_.request_stop();
}

void job::throw_if_ended() {
  if (!stop_.stop_requested()) { return; }
  stop();
  std::lock_guard const lock{mutex_};
  std::rethrow_exception(error_);
}

}  // namespace block_digest
