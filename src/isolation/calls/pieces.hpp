// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The piece of shared memory through which a thread copies what a worker cannot access.

#include <cuda.h>

#include <algorithm>
#include <cstddef>

#include "isolation/owner/owner.hpp"
#include "isolation/owner/thread_state.hpp"

namespace flotilla::isolated {

/// The calling thread's piece of shared memory, or null.
[[nodiscard]] inline std::byte* scratch() {
  thread_state& mine = thread_state::get();
  if (mine.scratch == nullptr) {
    mine.scratch =
        static_cast<std::byte*>(owner::get().host().allocate(thread_state::scratch_bytes));
  }
  return mine.scratch;
}

/// Returns the status of a copy that has ended or failed. After a failure, waits until no worker
/// that this thread has called and that is lost can use host memory any more: if a worker ends
/// before it answers, a GPU may still execute its copy.
inline CUresult settled(CUresult answer) {
  if (answer != CUDA_SUCCESS) {
    for (thread_channel const& each : thread_state::get().channels) { each.wait_if_lost(); }
  }
  return answer;
}

/// Calls one(offset, bytes) for each piece, until a call fails.
template <class One>
CUresult in_pieces(std::size_t bytes, One const& one) {
  if (scratch() == nullptr) { return CUDA_ERROR_OUT_OF_MEMORY; }
  CUresult answer = CUDA_SUCCESS;
  for (std::size_t at = 0; at < bytes && answer == CUDA_SUCCESS;
       at += thread_state::scratch_bytes) {
    answer = one(at, std::min(bytes - at, thread_state::scratch_bytes));
  }
  return settled(answer);
}

}  // namespace flotilla::isolated
