// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/base/wake_all.hpp"

#include <atomic>

namespace flotilla::cpu_driver {
namespace {

std::atomic<wakeable*> newest{nullptr};  // head of a list from which nothing is ever removed

}  // namespace

void register_wakeable(wakeable& added) noexcept {
  added.next_ = newest.load(std::memory_order_relaxed);
  // release: pairs with the acquire in wake_all()
  while (!newest.compare_exchange_weak(added.next_, &added, std::memory_order_release,
                                       std::memory_order_relaxed)) {}
}

void wake_all() noexcept {
  for (wakeable* each = newest.load(std::memory_order_acquire); each != nullptr;
       each = each->next_) {
    each->wake();
  }
}

}  // namespace flotilla::cpu_driver
