// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "job.hpp"

#include <algorithm>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "input_file.hpp"

namespace block_digest {

namespace {

// Blocks per task. A GPU digests 32 blocks in the same time as one block, because a warp has 32
// threads.
constexpr std::size_t blocks_per_task = 32;

// Uses half of the processors. Reading, dispatching and the kernels of CPU devices need the rest.
unsigned verifying_threads() { return std::max(1U, std::thread::hardware_concurrency() / 2); }

}  // namespace

job::job(device_scheduler& scheduler, result_collector& results, console& output,
         std::uint64_t total_bytes)
    : scheduler_{scheduler},
      results_{results},
      output_{output},
      total_bytes_{total_bytes},
      verifier_{verifying_threads()} {}

void job::add_file(std::string const& path) {
  try {
    add_contents(path);
  } catch (std::system_error const& error) { output_.failure(path, error.code().message()); }
}

void job::add_contents(std::string const& path) {
  input_file file{path};
  auto const name = std::make_shared<std::string const>(path);
  std::uint64_t offset = 0;
  for (;;) {
    block_batch& batch = open_batch();
    std::span const space = batch.free_space(blocks_per_task);
    std::size_t const bytes = file.read(space);
    if (bytes != 0) { batch.add(name, offset, bytes); }
    if (batch.free_space(1).empty()) { submit_batch(); }
    if (bytes < space.size()) { return; }
    offset += bytes;
  }
}

void job::finish() {
  if (open_ != nullptr && open_->blocks != 0) { submit_batch(); }
  while (in_flight_ != 0) {
    if (!process_finished() && !scheduler_.wait_for_one()) { verifier_.wait(); }
  }
}

block_batch& job::open_batch() {
  while (open_ == nullptr) {
    process_finished();
    open_ = scheduler_.pick();
    // If no batch is free, all batches are on a device or in the verifier. Wait for one of them.
    if (open_ == nullptr && !scheduler_.wait_for_one()) { verifier_.wait(); }
  }
  return *open_;
}

void job::submit_batch() {
  open_->number = next_number_++;
  ++in_flight_;
  scheduler_.submit(*std::exchange(open_, nullptr));
}

// Passes finished batches to the verifier, and verified batches to the result collector. Returns
// whether it passed any batch.
bool job::process_finished() {
  bool moved = false;
  while (block_batch* const finished = scheduler_.take_finished()) {
    verifier_.add(*finished);
    moved = true;
  }
  while (block_batch* const verified = verifier_.take_verified()) {
    results_.add(*verified);
    recorded_bytes_ += verified->used_bytes;
    scheduler_.release(*verified);
    --in_flight_;
    moved = true;
  }
  output_.progress(recorded_bytes_, total_bytes_);
  return moved;
}

}  // namespace block_digest
