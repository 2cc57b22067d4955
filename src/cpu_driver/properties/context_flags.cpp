// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/properties/context_flags.hpp"

namespace flotilla::cpu_driver {
namespace {

using namespace std::chrono_literals;

constexpr unsigned known_flags = CU_CTX_SCHED_MASK | CU_CTX_MAP_HOST | CU_CTX_LMEM_RESIZE_TO_MAX |
                                 CU_CTX_COREDUMP_ENABLE | CU_CTX_USER_COREDUMP_ENABLE |
                                 CU_CTX_SYNC_MEMOPS;

}  // namespace

bool context_flags::valid(unsigned flags) noexcept {
  unsigned const schedule = flags & CU_CTX_SCHED_MASK;
  bool const at_most_one_schedule = (schedule & (schedule - 1)) == 0;
  return (flags & ~known_flags) == 0 && at_most_one_schedule;
}

void context_flags::set(unsigned flags) noexcept {
  constexpr unsigned fixed = CU_CTX_MAP_HOST;
  unsigned now = flags_.load(std::memory_order_relaxed);
  while (!flags_.compare_exchange_weak(now, (now & fixed) | (flags & ~fixed),
                                       std::memory_order_relaxed)) {}
}

spin_times context_flags::spin() const noexcept {
  // Even CU_CTX_SCHED_SPIN spins for a limited time, because the device thread needs a core too.
  switch (get() & CU_CTX_SCHED_MASK) {
    case CU_CTX_SCHED_SPIN: return {.spin = 500us, .yield = 0us};
    case CU_CTX_SCHED_YIELD: return {.spin = 5us, .yield = 1000us};
    case CU_CTX_SCHED_BLOCKING_SYNC: return {.spin = 0us, .yield = 0us};
    default: return {.spin = 20us, .yield = 50us};
  }
}

}  // namespace flotilla::cpu_driver
