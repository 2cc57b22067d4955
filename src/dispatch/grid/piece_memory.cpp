// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/piece_memory.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

namespace flotilla::dispatch {

namespace {
// Enough for a device that is not busy, so that its first grids have the memory.
constexpr std::chrono::microseconds max_wait{100};
}  // namespace

CUdeviceptr piece_memory::of(registered_slabs::piece const& piece, std::size_t bytes) noexcept {
  auto found = std::find_if(all_.begin(), all_.end(),
                            [&](memory const& each) { return each.host == piece.host; });
  if (found == all_.end()) {
    try {
      all_.reserve(all_.size() + 1);
    } catch (std::bad_alloc const&) { return 0; }
    CUdeviceptr const address = allocate(bytes);
    if (address == 0) { return 0; }
    all_.push_back({piece.host, address, false});
    found = all_.end() - 1;
    auto const end = std::chrono::steady_clock::now() + max_wait;
    while (!is_idle() && std::chrono::steady_clock::now() < end) { std::this_thread::yield(); }
  }
  found->is_ready = found->is_ready || is_idle();
  return found->is_ready ? found->address : 0;
}

bool piece_memory::is_idle() const noexcept {
  return context_.api().stream_query(memory_stream_) == CUDA_SUCCESS;
}

CUdeviceptr piece_memory::allocate(std::size_t bytes) const noexcept {
  driver::table const& api = context_.api();
  CUdeviceptr address = 0;
  if (api.mem_alloc_async(&address, bytes, memory_stream_) != CUDA_SUCCESS) { return 0; }
  if (api.memset_d8_async(address, 0, bytes, memory_stream_) != CUDA_SUCCESS) {
    api.mem_free_async(address, memory_stream_);
    return 0;
  }
  return address;
}

void piece_memory::destroy() noexcept {
  for (memory const& each : all_) { context_.api().mem_free_async(each.address, memory_stream_); }
  all_.clear();
}

}  // namespace flotilla::dispatch
