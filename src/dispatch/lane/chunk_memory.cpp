// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/lane/chunk_memory.hpp"

#include <new>

#include <flotilla/error/error.hpp>

namespace flotilla::dispatch {

chunk_memory::chunk_memory(context::context_handle const& context, registered_memory::users of)
    : context_(context), users_(of) {
  free_.reserve(max_pieces);  // so that give_back and grow never allocate
}

std::uint32_t chunk_memory::take() noexcept {
  std::lock_guard const lock{mutex_};
  if (free_.empty()) { return no_piece; }
  std::uint32_t const found = free_.back();
  free_.pop_back();
  return found;
}

void chunk_memory::give_back(std::uint32_t piece) noexcept {
  {
    std::lock_guard const lock{mutex_};
    free_.push_back(piece);
  }
  returns_.fetch_add(1, std::memory_order_release);  // pairs with the acquire in returns
}

CUresult chunk_memory::grow() noexcept {
  if (!may_grow()) { return CUDA_SUCCESS; }
  std::uint32_t const slab = slab_count_.load(std::memory_order_relaxed);
  CUresult answer = CUDA_SUCCESS;
  try {
    slabs_[slab] =
        std::make_unique<registered_memory>(context_, pieces_of_slab * piece_bytes, users_);
  } catch (driver_error const& why) {
    answer = static_cast<CUresult>(why.status());
  } catch (std::bad_alloc const&) { answer = CUDA_ERROR_OUT_OF_MEMORY; }
  if (answer != CUDA_SUCCESS) {
    refused_.store(true, std::memory_order_relaxed);
    return answer;
  }
  slab_count_.store(slab + 1, std::memory_order_relaxed);
  // A thread that takes one of the pieces sees the slab, because it locks the mutex later.
  std::lock_guard const lock{mutex_};
  for (std::uint32_t i = pieces_of_slab; i-- > 0;) { free_.push_back(slab * pieces_of_slab + i); }
  return answer;
}

void chunk_memory::unregister() noexcept {
  for (auto const& slab : slabs_) {
    if (slab != nullptr) { slab->unregister(); }
  }
}

}  // namespace flotilla::dispatch
