// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The batches of the program. Their number limits its memory.

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "block_batch.hpp"

namespace block_digest {

/// Owns a fixed number of batches, and lends them.
///
/// Threads: any. Lifetime: must end before its runtime, and after the tasks that use the batches.
class batch_pool {
 public:
  /// Allocates the batches. If the driver cannot pin that much memory, there are fewer batches.
  /// @throws flotilla::driver_error  The memory does not suffice for one batch.
  batch_pool(flotilla::runtime& rt, batch_capacity const& capacity, std::size_t count);

  [[nodiscard]] std::size_t size() const noexcept { return batches_.size(); }
  /// Waits for a free batch, which is empty. Returns null if a stop is requested.
  [[nodiscard]] block_batch* take(std::stop_token const& stop);
  /// Empties a batch, so that take() can return it again.
  void give_back(block_batch& batch);

 private:
  std::mutex mutex_;  // guards free_
  std::condition_variable_any returned_;
  std::vector<block_batch*> free_;
  std::vector<std::unique_ptr<block_batch>> batches_;  // constant after the constructor
};

}  // namespace block_digest
