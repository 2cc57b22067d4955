// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/queue/thread_inboxes.hpp"

#include <algorithm>

#include "base/per_thread.hpp"

namespace flotilla::dispatch {

inbox& thread_inboxes::find(std::uint64_t runtime, std::size_t wanted, std::size_t places,
                            inbox_registry& registry, std::size_t capacity, priority_level level) {
  thread_inboxes& self = base::per_thread<thread_inboxes>::get();
  // A thread uses few runtimes. Search from the end, where the newest runtime is.
  auto entry =
      std::find_if(self.runtimes_.rbegin(), self.runtimes_.rend(),
                   [runtime](runtime_inboxes const& each) { return each.runtime == runtime; });
  if (entry == self.runtimes_.rend()) {
    last_ = {};
    self.forget_ended_runtimes();
    self.runtimes_.push_back({runtime, {}});
    entry = self.runtimes_.rbegin();
  }
  if (wanted >= entry->by_place.size()) { entry->by_place.resize(places); }
  // Update last_ before `open`, because `resize` may have moved the pointers, and `open` may throw.
  last_ = {runtime, entry->by_place.size(), entry->by_place.data()};
  std::shared_ptr<inbox>& box = entry->by_place[wanted];
  if (box == nullptr) { box = registry.open(capacity, level); }
  return *box;
}

void thread_inboxes::forget_ended_runtimes() {
  // After a runtime has ended, this thread holds the only references to the runtime's inboxes.
  std::erase_if(runtimes_, [](runtime_inboxes const& each) {
    return std::all_of(
        each.by_place.begin(), each.by_place.end(),
        [](std::shared_ptr<inbox> const& box) { return box == nullptr || box.use_count() == 1; });
  });
}

thread_inboxes::~thread_inboxes() {
  last_ = {};
  for (runtime_inboxes& each : runtimes_) {
    for (std::shared_ptr<inbox> const& box : each.by_place) {
      if (box != nullptr) { box->orphan(); }
    }
  }
}

}  // namespace flotilla::dispatch
