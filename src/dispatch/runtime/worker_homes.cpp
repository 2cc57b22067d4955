// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/worker_homes.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace flotilla::dispatch {

namespace {
// A worker that moves too soon comes back soon: a move costs a system call and a migration.
constexpr unsigned visits_before_move = 64;
}  // namespace

worker_homes::worker_homes(base::numa_nodes const& nodes, std::vector<int> const& nodes_of_devices,
                           busy_predicate is_busy)
    : is_busy_(std::move(is_busy)) {
  for (unsigned device = 0; device < nodes_of_devices.size(); ++device) {
    int const node = nodes_of_devices[device];
    base::processor_mask const* const processors = nodes.processors_of(node);
    if (processors == nullptr) {
      of_devices_.push_back(none);
      continue;
    }
    auto found = std::find_if(homes_.begin(), homes_.end(),
                              [node](home const& each) { return each.node == node; });
    if (found == homes_.end()) {
      homes_.emplace_back(node, *processors);
      found = std::prev(homes_.end());
    }
    found->devices.push_back(device);
    of_devices_.push_back(static_cast<int>(found - homes_.begin()));
  }
}

int worker_homes::spare_workers(int index) const {
  auto const busy = std::ranges::count_if(at(index).devices, is_busy_);
  return at(index).workers.load(std::memory_order_relaxed) - static_cast<int>(busy);
}

bool worker_home::visit_elsewhere(int home) {
  if (home == worker_homes::none) {
    leave();
    return true;
  }
  if (all_.is_attended(home)) { return false; }
  bool const is_wanted = own_ == worker_homes::none ||
                         (++visits_elsewhere_ >= visits_before_move && all_.has_spare_worker(own_));
  bool const moves = is_wanted && all_.has_room(home);
  leave();
  if (!moves) { return true; }
  own_ = home;
  visits_elsewhere_ = 0;
  pin_.move_to(all_.processors(home));
  come_back();
  return true;
}

void worker_home::leave() noexcept {
  if (std::exchange(is_counted_, false)) { all_.add_worker(own_, -1); }
}

void worker_home::come_back() noexcept {
  if (own_ == worker_homes::none || std::exchange(is_counted_, true)) { return; }
  all_.add_worker(own_, 1);
}

}  // namespace flotilla::dispatch
