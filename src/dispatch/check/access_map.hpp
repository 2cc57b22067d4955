// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which tasks use which memory.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "dispatch/check/memory_access.hpp"

namespace flotilla::dispatch {

/// Maps each byte to the tasks that use it. The map consists of segments: ranges of bytes that the
/// same tasks use. Threads: one at a time.
class access_map {
 public:
  /// Returns whether the task runs before the task that is added now.
  using order = std::function<bool(task_number)>;

  /// Adds to `rivals` each task that uses memory of `access`, if one of the two tasks writes. May
  /// add a task several times.
  void find_rivals(memory_access const& access, std::vector<task_number>& rivals) const;
  /// Returns the newest task that conflicts with `access`: it uses the same memory, one of the two
  /// tasks writes, and `is_before` is false for it. Empty if there is no such task.
  [[nodiscard]] std::optional<task_number> conflict(memory_access const& access,
                                                    order const& is_before) const;
  /// Adds an access, which has no conflict. Order is transitive: each later task that runs after
  /// this task also runs after the tasks before it. So this access replaces older ones: a write
  /// replaces all of them, and a read replaces older reads.
  void add(task_number task, memory_access const& access, order const& is_before);
  /// Forgets the accesses of the task in this range.
  void remove(task_number task, memory_access const& range);
  /// Forgets all accesses in this range.
  void remove_all(std::uintptr_t begin, std::uintptr_t end);

  /// Returns whether the map has an access of the task.
  [[nodiscard]] bool holds(task_number task) const { return uses_.contains(task); }
  [[nodiscard]] std::size_t segments() const noexcept { return segments_.size(); }

 private:
  struct entry {
    task_number task;
    std::uint64_t memory;
    bool writes;
    bool operator==(entry const&) const = default;
  };
  struct segment {
    std::uintptr_t end;
    std::vector<entry> entries;  // in the order of their tasks
  };
  using segment_map = std::map<std::uintptr_t, segment>;

  [[nodiscard]] static bool are_rivals(entry const& one, memory_access const& access) noexcept {
    return one.memory == access.memory && (one.writes || access.writes);
  }
  /// Calls `visit(entry)` for each entry in the range.
  template <class Visit>
  void for_each_entry(memory_access const& range, Visit&& visit) const;
  /// Makes a segment begin at `address` if a segment contains this address.
  void split(std::uintptr_t address);
  /// Makes segments for the parts of the range that have none, and splits segments at its ends.
  /// Returns the first segment of the range.
  segment_map::iterator cover(std::uintptr_t begin, std::uintptr_t end);
  template <class Predicate>
  void remove_entries(segment& from, Predicate&& matches);
  /// Joins equal neighbours and removes empty segments, from the segment before `begin` to `end`.
  void tidy(std::uintptr_t begin, std::uintptr_t end);
  void release(task_number task);

  segment_map segments_;
  std::unordered_map<task_number, std::size_t> uses_;  // the number of entries of each task
};

}  // namespace flotilla::dispatch
