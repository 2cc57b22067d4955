#include "dispatch/inbox.hpp"

#include <algorithm>

namespace flotilla::dispatch {

std::shared_ptr<inbox> inbox_registry::open(std::size_t capacity, urgency level) {
  auto made = std::make_shared<inbox>(capacity, level);
  std::lock_guard const lock{mutex_};
  boxes_.push_back(made);
  version_.fetch_add(1, std::memory_order_release);  // pairs with the acquire in refresh
  return made;
}

void inbox_registry::refresh(view& seen) {
  if (version_.load(std::memory_order_acquire) == seen.version) { return; }
  std::lock_guard const lock{mutex_};
  seen.version = version_.load(std::memory_order_relaxed);
  seen.boxes = boxes_;
  std::stable_sort(seen.boxes.begin(), seen.boxes.end(),
                   [](auto const& one, auto const& other) { return one->level() > other->level(); });
  for (unsigned level = 0; level < urgencies; ++level) {
    auto const first = std::partition_point(seen.boxes.begin(), seen.boxes.end(),
                                            [level](auto const& each) { return each->level() > level; });
    seen.first[level] = static_cast<std::size_t>(first - seen.boxes.begin());
  }
}

void inbox_registry::sweep(slot_pool& pool) {
  std::lock_guard const lock{mutex_};
  auto const gone = [&pool](std::shared_ptr<inbox> const& each) {
    if (!each->orphaned() || !each->empty()) { return false; }
    pool.let_go(each->slots());
    return true;
  };
  if (std::erase_if(boxes_, gone) != 0) { version_.fetch_add(1, std::memory_order_release); }
}

thread_inboxes& thread_inboxes::mine() {
  static thread_local thread_inboxes inboxes;
  return inboxes;
}

inbox& thread_inboxes::find(std::uint64_t core, std::size_t wanted, std::size_t places, inbox_registry& registry,
                            std::size_t capacity, urgency level) {
  thread_inboxes& self = mine();
  // Few runtimes a thread, and mostly one of the last: a search of a short vector, latest first.
  auto of = std::find_if(self.cores_.rbegin(), self.cores_.rend(), [core](of_core const& each) { return each.core == core; });
  if (of == self.cores_.rend()) {
    last_ = {};
    self.forget_dead_cores();
    self.cores_.push_back({core, {}});
    of = self.cores_.rbegin();
  }
  if (wanted >= of->by_place.size()) { of->by_place.resize(places); }
  last_ = {core, of->by_place.size(), of->by_place.data()};  // what was there may have moved, whatever happens now
  std::shared_ptr<inbox>& box = of->by_place[wanted];
  if (box == nullptr) { box = registry.open(capacity, level); }
  return *box;
}

void thread_inboxes::forget_dead_cores() {
  // A runtime that has ended has let go of its ends: ours is the only one.
  std::erase_if(cores_, [](of_core const& each) {
    return std::all_of(each.by_place.begin(), each.by_place.end(), [](std::shared_ptr<inbox> const& box) {
      return box == nullptr || box.use_count() == 1;
    });
  });
}

thread_inboxes::~thread_inboxes() {
  last_ = {};
  for (of_core& each : cores_) {
    for (std::shared_ptr<inbox> const& box : each.by_place) {
      if (box != nullptr) { box->orphan(); }
    }
  }
}

}  // namespace flotilla::dispatch
