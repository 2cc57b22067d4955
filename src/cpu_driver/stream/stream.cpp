// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/stream/stream.hpp"

#include <chrono>
#include <thread>

#include "cpu_driver/stream/context_resources.hpp"
#include "cpu_driver/stream/device_thread.hpp"
#include "cpu_driver/stream/stream_group.hpp"

namespace flotilla::cpu_driver {

namespace {

// The number of pending operations at which submitting threads are delayed. A larger number would
// not make the device faster, and the operations would not fit into the caches. A GPU's driver also
// blocks when its queue is full.
constexpr std::uint64_t max_waiting = 2048;
constexpr std::uint64_t check_interval = 64;
constexpr std::chrono::microseconds max_hold_time{200};

unsigned long long next_id() noexcept {
  static std::atomic<unsigned long long> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

stream::stream(CUstream self, stream_group& group, stream_kind kind, int priority) noexcept
    : self_(self), group_(group), kind_(kind), priority_(priority), id_(next_id()) {
  group_.open_streams().add();
}

context_resources& stream::resources() const noexcept { return group_.resources(); }

void stream::push(operation* added) noexcept {
  std::uint64_t const before = append(added);
  if (before % check_interval == 0) { hold_back(before); }
}

std::uint64_t stream::append(operation* added) noexcept {
  added->where = this;
  // relaxed: only a count; the inbox of the device thread orders the operations
  std::uint64_t const before = submitted_.fetch_add(1, std::memory_order_relaxed);
  resources().thread.push(added);
  return before;
}

void stream::hold_back(std::uint64_t submitted) noexcept {
  auto seen = completed_.load(std::memory_order_relaxed);
  if (submitted < seen + max_waiting) { return; }
  auto last_progress = std::chrono::steady_clock::now();
  while (submitted >= seen + max_waiting / 2) {
    std::this_thread::yield();
    auto const now = std::chrono::steady_clock::now();
    auto const next = completed_.load(std::memory_order_relaxed);
    if (next != seen) {
      seen = next;
      last_progress = now;
    } else if (now - last_progress > max_hold_time) {
      return;  // the stream may wait for an action that this thread does only after this call
    }
  }
}

void stream::synchronize(spin_times times) {
  if (idle()) { return; }
  latch reached(1);
  enqueue(reach_latch{&reached});
  reached.wait(times);
}

void stream::retire() noexcept {
  closing_.what.emplace<close_stream>();
  // Do not call push(): it accesses the stream after the append, when the stream may be destroyed.
  append(&closing_);
}

void stream_list::append(stream& added) noexcept {
  added.next_in_list_ = nullptr;
  if (first_ == nullptr) {
    first_ = &added;
  } else {
    last_->next_in_list_ = &added;
  }
  last_ = &added;
}

stream* stream_list::take_first() noexcept {
  stream* const taken = first_;
  if (taken != nullptr) { first_ = std::exchange(taken->next_in_list_, nullptr); }
  return taken;
}

}  // namespace flotilla::cpu_driver
