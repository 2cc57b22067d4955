// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/stream/operation_pool.hpp"

#include <atomic>

#include "base/per_thread.hpp"

namespace flotilla::cpu_driver {
namespace {

constexpr int chain_length = 32;  // number of operations that a device thread gives back at once

std::atomic<operation*> returned{nullptr};

/// A thread's list of free operations.
struct operation_cache {
  operation* first = nullptr;

  operation_cache() = default;
  operation_cache(operation_cache&&) = delete;
  ~operation_cache() {
    if (first == nullptr) { return; }
    operation* last = first;
    while (last->next != nullptr) { last = last->next; }
    return_operations(first, last);
  }
};

}  // namespace

operation* take_operation() {
  operation_cache& mine = base::per_thread<operation_cache>::get();
  if (mine.first == nullptr) {
    // acquire: pairs with the release in return_operations()
    mine.first = returned.exchange(nullptr, std::memory_order_acquire);
    if (mine.first == nullptr) { return new operation; }
  }
  operation* const taken = mine.first;
  mine.first = taken->next;
  taken->next = nullptr;
  return taken;
}

void return_operations(operation* first, operation* last) noexcept {
  operation* head = returned.load(std::memory_order_relaxed);
  do {
    last->next = head;
    // release: pairs with the acquire in take_operation()
  } while (!returned.compare_exchange_weak(head, first, std::memory_order_release,
                                           std::memory_order_relaxed));
}

void operation_recycler::add(operation& ended) noexcept {
  ended.what.emplace<std::monostate>();
  ended.next = first_;
  first_ = &ended;
  if (last_ == nullptr) { last_ = &ended; }
  if (++count_ >= chain_length) { flush(); }
}

void operation_recycler::flush() noexcept {
  if (first_ == nullptr) { return; }
  return_operations(first_, last_);
  first_ = last_ = nullptr;
  count_ = 0;
}

}  // namespace flotilla::cpu_driver
