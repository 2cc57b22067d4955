// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/lane/progress_words.hpp"

#include <atomic>
#include <utility>

namespace flotilla::dispatch {

void progress_words::add_slab(context::context_handle const& context, unsigned device) {
  std::size_t const rows = bytes_of_slab_ / bytes_of_row_;
  {
    std::lock_guard const lock{mutex_};
    if (!free_.empty()) { return; }
    slabs_.reserve(slabs_.size() + 1);
    free_.reserve((slabs_.size() + 1) * rows);
  }
  std::unique_ptr<slab> made{
      new slab{device, {context, bytes_of_slab_, registered_memory::users::all_devices}}};
  registered_memory const& memory = made->memory;
  std::lock_guard const lock{mutex_};
  slabs_.push_back(std::move(made));
  for (std::size_t i = rows; i-- > 0;) {
    free_.push_back({memory.host() + i * bytes_of_row_, memory.device() + i * bytes_of_row_});
  }
}

progress_words::row progress_words::take(context::context_handle const& context, unsigned device) {
  add_slab(context, device);
  std::lock_guard const lock{mutex_};
  row const taken = free_.back();
  free_.pop_back();
  std::uint64_t const first = all_raised_ ? above_all_values : 0;
  for (std::size_t i = 0; i < bytes_of_row_ / stride; ++i) {
    // relaxed: the devices read the words only in replays that are submitted later
    std::atomic_ref{taken.word(static_cast<std::uint32_t>(i))}.store(first,
                                                                     std::memory_order_relaxed);
  }
  return taken;
}

void progress_words::give_back(row const& used) noexcept {
  std::lock_guard const lock{mutex_};
  free_.push_back(used);
}

void progress_words::raise(std::uint64_t& word, std::uint64_t value) noexcept {
  std::atomic_ref held{word};
  std::uint64_t before = held.load(std::memory_order_relaxed);
  // release: who waits must see what the host did before
  while (before < value && !held.compare_exchange_weak(before, value, std::memory_order_release,
                                                       std::memory_order_relaxed)) {}
}

void progress_words::raise_all() noexcept {
  std::lock_guard const lock{mutex_};
  all_raised_ = true;
  for (auto const& each : slabs_) {
    row const all{each->memory.host(), 0};
    for (std::uint32_t i = 0; i < bytes_of_slab_ / stride; ++i) {
      raise(all.word(i), above_all_values);
    }
  }
}

void progress_words::unregister(unsigned device) noexcept {
  std::lock_guard const lock{mutex_};
  for (auto const& each : slabs_) {
    if (each->device == device) { each->memory.unregister(); }
  }
}

}  // namespace flotilla::dispatch
