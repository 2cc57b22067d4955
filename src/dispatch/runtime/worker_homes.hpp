// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keeps workers on the NUMA nodes of the devices that they drive.

#include <atomic>
#include <deque>
#include <functional>
#include <vector>

#include "base/numa_nodes.hpp"
#include "base/thread_pin.hpp"

namespace flotilla::dispatch {

/// The NUMA nodes that devices of a runtime prefer, the *homes*, and the number of workers at each
/// home. There is no home if no device prefers a node. Threads: any.
///
/// The counts are only hints, so the accesses are relaxed. No wakeup depends on them: a worker that
/// leaves a device to others still sees the work, so it continues and looks again.
class worker_homes {
 public:
  static constexpr int none = -1;
  /// Whether a thread drives the device, or should do so.
  using busy_predicate = std::function<bool(unsigned device)>;

  /// @param nodes_of_devices  The node that each device prefers, or -1.
  worker_homes(base::numa_nodes const& nodes, std::vector<int> const& nodes_of_devices,
               busy_predicate is_busy);

  [[nodiscard]] bool empty() const noexcept { return homes_.empty(); }
  /// Returns the index of the home of a device, or `none`.
  [[nodiscard]] int of_device(unsigned device) const noexcept { return of_devices_[device]; }
  [[nodiscard]] base::processor_mask const& processors(int index) const noexcept {
    return at(index).processors;
  }
  /// Returns whether there is a worker for each busy device of the home.
  [[nodiscard]] bool is_attended(int index) const { return spare_workers(index) >= 0; }
  /// Returns whether there are more workers than busy devices.
  [[nodiscard]] bool has_spare_worker(int index) const { return spare_workers(index) > 0; }
  /// Returns whether the home has fewer workers than processors.
  [[nodiscard]] bool has_room(int index) const noexcept {
    home const& one = at(index);
    return one.workers.load(std::memory_order_relaxed) < one.max_workers;
  }
  void add_worker(int index, int change) noexcept {
    at(index).workers.fetch_add(change, std::memory_order_relaxed);
  }

 private:
  struct home {
    home(int number, base::processor_mask const& usable)
        : node(number), processors(usable), max_workers(static_cast<int>(usable.count())) {}
    int node;
    base::processor_mask processors;
    int max_workers;
    std::vector<unsigned> devices;
    std::atomic<int> workers{0};
  };
  [[nodiscard]] home& at(int index) noexcept { return homes_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] home const& at(int index) const noexcept {
    return homes_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] int spare_workers(int index) const;

  std::deque<home> homes_;
  std::vector<int> of_devices_;  // index in homes_, or none
  busy_predicate const is_busy_;
};

/// The home of one worker. The worker settles at the home of the first device that it drains. It
/// then runs only on the processors of that node until it ends, or until it moves. It drains a
/// device of another home if that home has too few workers, and moves there if it does so often and
/// its own home has workers to spare. It never settles at a home that already has as many workers
/// as processors. Threads: only the worker's.
class worker_home {
 public:
  explicit worker_home(worker_homes& all) noexcept : all_(all) {}
  /// Restores the affinity mask of the thread.
  ~worker_home() { leave(); }
  worker_home(worker_home const&) = delete;
  worker_home& operator=(worker_home const&) = delete;

  /// Returns whether this worker should try to drain a device that has work. If true, call
  /// `come_back` after the drain. If false, workers at the device's home drain it.
  /// Cost: a comparison for a device of the worker's home.
  [[nodiscard]] bool visit(unsigned device) {
    if (all_.empty()) { return true; }
    int const home = all_.of_device(device);
    if (home == own_) {
      visits_elsewhere_ = 0;
      return true;
    }
    return visit_elsewhere(home);
  }
  /// Call this before other work that can block: the worker does not count until `come_back`.
  void leave() noexcept;
  void come_back() noexcept;

 private:
  [[nodiscard]] bool visit_elsewhere(int home);

  worker_homes& all_;
  int own_ = worker_homes::none;
  bool is_counted_ = false;
  unsigned visits_elsewhere_ = 0;
  base::thread_pin pin_;
};

}  // namespace flotilla::dispatch
