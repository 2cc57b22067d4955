// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/queue/shared_queue.hpp"

namespace flotilla::dispatch {

void device_share::adapt(std::chrono::steady_clock::duration took) noexcept {
  using std::chrono::microseconds;
  std::uint32_t const limit = limit_.load(std::memory_order_relaxed);
  if (took < microseconds{200} && limit < max_limit) {
    limit_.store(limit * 2, std::memory_order_relaxed);
  } else if (took > microseconds{2000} && limit > 2) {
    limit_.store(limit / 2, std::memory_order_relaxed);
  }
}

}  // namespace flotilla::dispatch
