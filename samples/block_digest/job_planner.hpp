// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The planner: it divides the input into jobs for the readers.

#include <cstdint>
#include <functional>
#include <string>

#include "batch_space.hpp"
#include "read_job.hpp"

namespace block_digest {

/// Makes jobs from files in the order of the input: a job has many small files or a part of a large
/// file. The jobs depend only on the sizes of the files, so they are the same for any number of
/// readers.
///
/// Threads: one.
class job_planner {
 public:
  using on_job = std::function<void(read_job&&)>;

  job_planner(batch_capacity const& capacity, on_job ready)
      : space_{capacity}, ready_{std::move(ready)} {}

  /// Plans to read the file up to its present size. If the size is 0 or not known, plans to read
  /// until the end, because files below /proc have contents although their size is 0.
  void add_file(std::string const& path);
  /// Passes on the last job.
  void finish();

 private:
  void add_piece(file_piece&& piece);

  batch_space space_;  // of the batch that the job will fill
  on_job ready_;
  read_job next_{};
  std::uint64_t next_block_ = 0;
};

}  // namespace block_digest
