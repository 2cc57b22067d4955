// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The places to which tasks can be submitted.

#include <cstdint>
#include <vector>

#include "dispatch/queue/device_inbound.hpp"
#include "dispatch/queue/shared_queue.hpp"
#include "dispatch/queue/thread_inboxes.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// The destination of a task: one device, or all devices together for a task that any device may
/// take.
struct place {
  unsigned index;  // the device index, or task_table::shared_place()
  slot_pool& slots;
  inbox_registry& inboxes;
  device_inbound* inbound;  // null if any device may take the task
  shared_queue* shared;     // null if the place is one device

  /// Returns the value for slot::device: 1 + the device index, or 0 for any device.
  [[nodiscard]] std::uint32_t device() const noexcept { return inbound == nullptr ? 0 : index + 1; }
  /// Announces a task that was pushed into an inbox of this place.
  void announce() const noexcept { inbound != nullptr ? inbound->announce() : shared->announce(); }
};

/// All places of a runtime. The table is filled only while the runtime starts. Threads: any.
class place_table {
 public:
  place_table(std::uint64_t runtime, task_table const& tasks, shared_queue& shared)
      : runtime_(runtime), tasks_(tasks), shared_(shared) {}
  /// Adds the next device. After the last device, call `add_shared`.
  void add(device_inbound& inbound) {
    unsigned const index = size();
    places_.push_back({index, tasks_.pool_at(index), inbound.inboxes(), &inbound, nullptr});
  }
  void add_shared() {
    unsigned const index = tasks_.shared_place();
    places_.push_back({index, tasks_.pool_at(index), shared_.inboxes(), nullptr, &shared_});
    count_ = index + 1;
    any_ = index == 1 ? 0 : index;
  }

  [[nodiscard]] place const& operator[](unsigned index) const noexcept { return places_[index]; }
  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(places_.size()); }
  /// Returns the place of tasks that may run on any device: the shared place, or the only device.
  [[nodiscard]] place const& any() const noexcept { return places_[any_]; }
  [[nodiscard]] place const& shared() const noexcept { return places_.back(); }
  /// Returns the calling thread's inbox for the place and level.
  [[nodiscard]] inbox& inbox_to(place const& to, priority_level level) const {
    inbox* const known = thread_inboxes::find_last(runtime_, to.index, count_, level);
    return known != nullptr ? *known : find_inbox(to, level);
  }

 private:
  // Not inline: inlined code would make the compiler spill registers in the hot path of `submit`.
  [[gnu::noinline]] inbox& find_inbox(place const& to, priority_level level) const {
    return thread_inboxes::get(runtime_, to.index, count_, to.inboxes, to.slots.window(), level);
  }

  std::uint64_t const runtime_;  // the runtime's number
  task_table const& tasks_;
  shared_queue& shared_;
  std::vector<place> places_;
  unsigned count_ = 0;  // of all places, after add_shared
  unsigned any_ = 0;    // index of `any`, after add_shared
};

}  // namespace flotilla::dispatch
