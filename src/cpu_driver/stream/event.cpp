// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/stream/event.hpp"

#include "cpu_driver/base/wake_all.hpp"

namespace flotilla::cpu_driver {

void event_record::complete() noexcept {
  // acq_rel: the thread that completes the record sees the writes of all streams that have reached
  // it. The release below publishes these writes.
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) { return; }
  if (timed_) { time_ = clock::now(); }
  // release: pairs with the acquires in completed() and watch()
  bool const was_watched = (state_.fetch_or(done, std::memory_order_acq_rel) & watched) != 0;
  latch_.count_down();
  if (was_watched) { wake_all(); }
}

}  // namespace flotilla::cpu_driver
