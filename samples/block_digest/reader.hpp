// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A reader: it reads files into batches.

#include <functional>
#include <stop_token>

#include "batch_pool.hpp"
#include "block_batch.hpp"
#include "read_job.hpp"

namespace block_digest {

/// Threads: one for each reader. Several readers may use one pool.
class reader {
 public:
  using on_batch = std::function<void(block_batch&)>;

  /// @param filled  Gets each batch.
  reader(batch_pool& pool, std::stop_token stop, on_batch filled)
      : pool_{pool}, stop_{std::move(stop)}, filled_{std::move(filled)} {}

  /// Reads all pieces of the job. Passes on one batch, or several if the files have more blocks
  /// than the planner expected. If a stop is requested, may return earlier.
  void run(read_job&& job);

 private:
  void read(file_piece const& piece);
  void open_batch(batch_position const& position);
  void pass_on(bool is_last_part);

  batch_pool& pool_;
  std::stop_token stop_;
  on_batch filled_;
  block_batch* batch_ = nullptr;  // the batch that is being filled; null after a stop
};

}  // namespace block_digest
