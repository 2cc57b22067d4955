// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/order_words.hpp"

#include <algorithm>
#include <new>

namespace flotilla::dispatch {

order_words::words* order_words::of(registered_slabs::piece const& piece) noexcept {
  auto const found = std::find_if(all_.begin(), all_.end(),
                                  [&](auto const& each) { return each->host == piece.host; });
  if (found != all_.end()) { return found->get(); }
  driver::table const& api = context_.api();
  CUdeviceptr memory = 0;
  try {
    all_.push_back(std::make_unique<words>());
  } catch (std::bad_alloc const&) { return nullptr; }
  if (api.mem_alloc_async(&memory, bytes, memory_stream_) != CUDA_SUCCESS) {
    all_.pop_back();
    return nullptr;
  }
  // Streams of lanes use the memory, so it must be ready before they do. This stream holds no
  // tasks.
  if (api.memset_d8_async(memory, 0, bytes, memory_stream_) != CUDA_SUCCESS ||
      api.stream_synchronize(memory_stream_) != CUDA_SUCCESS) {
    api.mem_free_async(memory, memory_stream_);
    all_.pop_back();
    return nullptr;
  }
  all_.back()->host = piece.host;
  all_.back()->memory = memory;
  return all_.back().get();
}

void order_words::destroy() noexcept {
  for (auto const& each : all_) { context_.api().mem_free_async(each->memory, memory_stream_); }
  all_.clear();
}

}  // namespace flotilla::dispatch
