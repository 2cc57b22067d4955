// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/stream/operation_inbox.hpp"

namespace flotilla::cpu_driver {

void operation_inbox::push(operation* added) noexcept {
  operation* head = newest_.load(std::memory_order_relaxed);
  do {
    added->next = head == asleep() ? nullptr : head;
    // release: pairs with the acquire in take_all()
  } while (!newest_.compare_exchange_weak(head, added, std::memory_order_release,
                                          std::memory_order_relaxed));
  if (head == asleep()) {
    // The device thread checks `newest_` and starts to wait while it holds the mutex. A
    // notification between the check and the wait would be lost. Locking the mutex here prevents
    // this.
    { std::lock_guard const lock(mutex_); }
    wake_.notify_one();
  }
}

void operation_inbox::wake() noexcept {
  // release: pairs with the acquire in take_wake(). An exchange, not a store: take_wake() then sees
  // what every earlier caller wrote, not only what the last one wrote.
  woken_.exchange(true, std::memory_order_release);
  { std::lock_guard const lock(mutex_); }
  wake_.notify_one();
}

operation* operation_inbox::take_all() noexcept {
  if (newest_.load(std::memory_order_relaxed) == nullptr) { return nullptr; }
  // acquire: pairs with the release in push()
  operation* newest = newest_.exchange(nullptr, std::memory_order_acquire);
  operation* oldest = nullptr;
  while (newest != nullptr) {
    operation* const next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  return oldest;
}

bool operation_inbox::take_wake() noexcept {
  return woken_.load(std::memory_order_relaxed) &&
         woken_.exchange(false, std::memory_order_acquire);  // pairs with the release in wake()
}

void operation_inbox::sleep(std::optional<std::chrono::microseconds> at_most) noexcept {
  operation* empty = nullptr;
  // If `newest_` is asleep(), push() knows that this thread sleeps or is about to sleep.
  if (!newest_.compare_exchange_strong(empty, asleep(), std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
    return;
  }
  {
    std::unique_lock lock(mutex_);
    auto const called = [this] {
      return newest_.load(std::memory_order_relaxed) != asleep() ||
             woken_.load(std::memory_order_relaxed);
    };
    if (at_most) {
      wake_.wait_for(lock, *at_most, called);
    } else {
      wake_.wait(lock, called);
    }
  }
  operation* mark = asleep();
  newest_.compare_exchange_strong(mark, nullptr, std::memory_order_relaxed,
                                  std::memory_order_relaxed);
}

}  // namespace flotilla::cpu_driver
