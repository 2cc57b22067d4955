// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/lane/registered_slabs.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace flotilla::dispatch {

namespace {
constexpr std::size_t line = 64;
}

void registered_slabs::begin() {
  if (current_ == nullptr) { current_ = &add_slab(slab_bytes); }
}

registered_memory& registered_slabs::add_slab(std::size_t bytes) {
  slabs_.reserve(slabs_.size() + 1);
  slabs_.push_back(std::make_unique<registered_memory>(context_, bytes));
  return *slabs_.back();
}

registered_slabs::piece registered_slabs::take(std::size_t bytes) {
  bytes = std::bit_ceil(std::max(bytes, line));  // with few sizes, more pieces can be reused
  if (!busy_.empty()) { collect(); }
  auto const found = std::find_if(free_.begin(), free_.end(),
                                  [bytes](piece const& each) { return each.bytes == bytes; });
  if (found != free_.end()) {
    piece const got = *found;
    free_.erase(found);
    std::memset(got.host, 0, got.bytes);
    return got;
  }
  // So that give_back and give_back_after never allocate.
  free_.reserve(cut_ + 1);
  busy_.reserve(cut_ + 1);
  piece got;
  if (bytes > slab_bytes / 4) {
    registered_memory const& own = add_slab(bytes);
    got = {own.host(), own.device(), bytes};
  } else {
    if (current_ == nullptr || used_ + bytes > slab_bytes) {
      current_ = &add_slab(slab_bytes);
      used_ = 0;
    }
    got = {current_->host() + used_, current_->device() + used_, bytes};
    used_ += bytes;
  }
  ++cut_;
  return got;
}

void registered_slabs::give_back(piece const& used) noexcept {
  if (used.host != nullptr) { free_.push_back(used); }
}

void registered_slabs::give_back_after(CUstream stream, piece const& used) noexcept {
  if (used.host != nullptr) { busy_.push_back({stream, used}); }
}

void registered_slabs::collect() noexcept {
  auto const still_busy = [this](busy_piece const& each) {
    return context_.api().stream_query(each.stream) != CUDA_SUCCESS;
  };
  auto const ended = std::partition(busy_.begin(), busy_.end(), still_busy);
  std::for_each(ended, busy_.end(), [this](busy_piece const& each) { give_back(each.memory); });
  busy_.erase(ended, busy_.end());
}

void registered_slabs::destroy() noexcept {
  for (auto const& each : slabs_) { each->unregister(); }
}

}  // namespace flotilla::dispatch
