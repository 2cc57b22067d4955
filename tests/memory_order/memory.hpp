// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory with the relaxed orders of C++20, as an operational machine.
//
// A location has a list of stores in its modification order. A thread has a view: for each
// location, the latest store that the thread has to respect. A load may read any store that is not
// before the view. A store may go to any place of the modification order behind the view, but not
// between a read-modify-write and the store that it has read. A release store takes the view of its
// thread with it, and an acquire load adds that view to its own. Fences do the same for the relaxed
// operations before or after them. A view also has a vector clock, so it shows whether one access
// happened before another. seq_cst operations and fences share one more view.
//
// What the machine leaves out: loads never read stores that come later in the program ("load
// buffering"), and the order of seq_cst operations always agrees with happens-before, as in C++17
// and on x86 and AArch64. compare_exchange_weak never fails spuriously.

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace flotilla::test::memory_order {

inline constexpr int max_threads = 6;  // with the main thread, which has the number 0
inline constexpr int max_locations = 48;

enum orders : int { relaxed, consume, acquire, release, acq_rel, seq_cst };  // as in __ATOMIC_*
[[nodiscard]] constexpr bool acquires(int order) {
  return order == consume || order == acquire || order == acq_rel || order == seq_cst;
}
[[nodiscard]] constexpr bool releases(int order) {
  return order == release || order == acq_rel || order == seq_cst;
}

struct view {
  std::array<double, max_locations> seen{};  // the time of a store, by location
  std::array<std::uint32_t, max_threads> clock{};

  void join(view const& other) {
    for (int i = 0; i < max_locations; ++i) { seen[i] = std::max(seen[i], other.seen[i]); }
    for (int i = 0; i < max_threads; ++i) { clock[i] = std::max(clock[i], other.clock[i]); }
  }
};

class memory {
 public:
  /// @param choose  Returns a number from 0 to its argument - 1. All numbers will be tried.
  explicit memory(std::function<int(int)> choose) : choose_(std::move(choose)) {}

  /// Begins a new execution.
  void reset() {
    locations_.clear();
    threads_.fill({});
    sequential_ = {};
  }
  /// Returns the location's index. Makes the location if it is new.
  /// @param now  The value that the location has before the first atomic access.
  int locate(std::uintptr_t address, std::uint64_t now) {
    for (std::size_t i = 0; i < locations_.size(); ++i) {
      if (locations_[i].address == address) { return static_cast<int>(i); }
    }
    if (locations_.size() == max_locations) { __builtin_trap(); }
    locations_.push_back({address, {{now, 0, {}, false}}});
    return static_cast<int>(locations_.size()) - 1;
  }
  /// Forgets the locations in a range, because it holds new objects.
  void forget(std::uintptr_t first, std::size_t bytes) {
    for (location& each : locations_) {
      if (each.address >= first && each.address < first + bytes) { each.address = 0; }
    }
  }

  std::uint64_t load(int thread, int at, int order) {
    std::vector<message> const& all = locations_[at].stores;
    std::size_t const first = first_visible(thread, at, order);
    std::size_t const index =
        all.size() - 1 - static_cast<std::size_t>(choose_(static_cast<int>(all.size() - first)));
    read(thread, at, all[index], order);
    return all[index].value;
  }
  void store(int thread, int at, std::uint64_t value, int order) {
    std::vector<message>& all = locations_[at].stores;
    // A place is the index of the store that the new store follows.
    std::array<std::size_t, 64> places;
    int count = 0;
    for (std::size_t i = all.size(); i-- > first_visible(thread, at, order);) {
      if (!all[i].replaced) { places[count++] = i; }
    }
    insert(thread, at, places[choose_(count)], {value, 0, {}, false}, order);
  }
  /// Replaces a value by `change(value)`. If `is_expected(value)` is false, this is only a load
  /// with the order `otherwise`. @return the value before.
  template <class Expected, class Change>
  std::uint64_t exchange(int thread, int at, Expected&& is_expected, Change&& change, int order,
                         int otherwise) {
    std::vector<message>& all = locations_[at].stores;
    std::array<std::size_t, 64> places;
    int count = 0;
    for (std::size_t i = all.size(); i-- > 0;) {
      bool const expected = is_expected(all[i].value);
      if (i < first_visible(thread, at, expected ? order : otherwise)) { continue; }
      if (!expected || !all[i].replaced) { places[count++] = i; }
    }
    std::size_t const place = places[choose_(count)];
    std::uint64_t const before = all[place].value;
    if (!is_expected(before)) {
      read(thread, at, all[place], otherwise);
      return before;
    }
    read(thread, at, all[place], order);
    view const sequence = all[place].released;  // a read-modify-write continues a release sequence
    all[place].replaced = true;
    insert(thread, at, place, {change(before), 0, sequence, false}, order);
    return before;
  }
  void fence(int thread, int order) {
    thread_view& mine = threads_[thread];
    if (acquires(order)) { mine.now.join(mine.acquirable); }
    if (order == seq_cst) {
      mine.now.join(seen_only(sequential_));
      sequential_.join(seen_only(mine.now));
    }
    if (releases(order)) { mine.released = mine.now; }
    tick(thread);
  }
  /// The value that the location has at last.
  [[nodiscard]] std::uint64_t last(int at) const { return locations_[at].stores.back().value; }
  [[nodiscard]] view& now(int thread) { return threads_[thread].now; }
  /// Begins a new step of the thread's clock.
  void tick(int thread) { ++threads_[thread].now.clock[thread]; }

 private:
  struct message {
    std::uint64_t value;
    double time;  // its place in the modification order
    view released;
    bool replaced;  // a read-modify-write has read it, and follows it directly
  };
  struct location {
    std::uintptr_t address;
    std::vector<message> stores;  // by time
  };
  struct thread_view {
    view now;
    view acquirable;  // what an acquire fence adds
    view released;    // what relaxed stores take with them: the view of the last release fence
  };
  /// The order of seq_cst operations says what threads may still read, but alone it is no
  /// synchronization.
  static view seen_only(view of) {
    of.clock.fill(0);
    return of;
  }
  std::size_t first_visible(int thread, int at, int order) const {
    double oldest = threads_[thread].now.seen[at];
    if (order == seq_cst) { oldest = std::max(oldest, sequential_.seen[at]); }
    std::vector<message> const& all = locations_[at].stores;
    std::size_t i = all.size() - 1;
    while (all[i].time > oldest && i > 0) { --i; }
    return i;
  }
  void note(int thread, int at, double time, int order) {
    double& mine = threads_[thread].now.seen[at];
    mine = std::max(mine, time);
    if (order == seq_cst) { sequential_.seen[at] = std::max(sequential_.seen[at], time); }
  }
  void read(int thread, int at, message const& from, int order) {
    note(thread, at, from.time, order);
    thread_view& mine = threads_[thread];
    (acquires(order) ? mine.now : mine.acquirable).join(from.released);
  }
  void insert(int thread, int at, std::size_t after, message what, int order) {
    std::vector<message>& all = locations_[at].stores;
    bool const is_last = after + 1 == all.size();
    what.time = is_last ? all[after].time + 1 : (all[after].time + all[after + 1].time) / 2;
    note(thread, at, what.time, order);
    thread_view const& mine = threads_[thread];
    what.released.join(releases(order) ? mine.now : mine.released);
    what.released.seen[at] = what.time;
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(after) + 1, what);
    tick(thread);  // what the thread does next is not part of the release
  }

  std::function<int(int)> choose_;
  std::vector<location> locations_;
  std::array<thread_view, max_threads> threads_{};
  view sequential_;
};

}  // namespace flotilla::test::memory_order
