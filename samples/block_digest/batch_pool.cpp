// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "batch_pool.hpp"

namespace block_digest {

batch_pool::batch_pool(flotilla::runtime& rt, batch_capacity const& capacity, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    try {
      batches_.push_back(std::make_unique<block_batch>(rt, capacity));
    } catch (flotilla::driver_error const& error) {
      bool const out_of_memory = error.status() == flotilla::driver_status::out_of_memory;
      if (!out_of_memory || batches_.empty()) { throw; }
      break;  // continue with the existing batches
    }
    free_.push_back(batches_.back().get());
  }
}

block_batch* batch_pool::take(std::stop_token const& stop) {
  std::unique_lock lock{mutex_};
  if (!returned_.wait(lock, stop, [this] { return !free_.empty(); })) { return nullptr; }
  // The batch that was used last, because its memory is most likely in the cache.
  block_batch* const taken = free_.back();
  free_.pop_back();
  return taken;
}

void batch_pool::give_back(block_batch& batch) {
  batch.clear();
  std::lock_guard const lock{mutex_};
  free_.push_back(&batch);
  returned_.notify_one();
}

}  // namespace block_digest
