// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans which graphs the recorded tasks form, and in which order the graphs run. This code uses
// neither a driver nor a runtime.

#include <cstdint>
#include <span>
#include <vector>

#include "dispatch/recording/index_lists.hpp"

namespace flotilla::dispatch {

/// The devices and the predecessors of recorded tasks.
class task_order {
 public:
  /// Makes the next task run after an earlier task.
  void add_ahead(std::uint32_t task) { after_.push(task); }
  /// Adds the next task, with the predecessors of the calls of `add_ahead` since the last `add`.
  void add(unsigned device) {
    devices_.push_back(device);
    try {
      after_.close();
    } catch (...) {
      devices_.pop_back();
      throw;
    }
  }
  /// Forgets the predecessors of the next task.
  void drop() { after_.drop(); }

  [[nodiscard]] std::size_t size() const noexcept { return devices_.size(); }
  [[nodiscard]] unsigned device(std::size_t task) const noexcept { return devices_[task]; }
  /// The earlier tasks that must end first. May name a task more than once.
  [[nodiscard]] std::span<std::uint32_t const> after(std::size_t task) const noexcept {
    return after_[task];
  }

 private:
  std::vector<unsigned> devices_;
  index_lists after_;
};

/// A point at which a part tells the other parts how far it is, and waits for them.
struct planned_exchange {
  /// Another part must have reached the exchange that belongs to `level`.
  struct need {
    std::uint32_t part = 0;
    std::uint32_t level = 0;
  };
  // The part has ended all tasks of lower levels that have successors in other parts.
  std::uint32_t level = 0;
  std::vector<need> needs{};  // at most one for each other part; all levels are at most `level`
};

/// Tasks of one device that form one graph. The nodes of the part are its tasks and, after them,
/// its exchanges: the node `tasks.size() + i` is exchanges[i].
struct planned_part {
  unsigned device = 0;
  std::vector<std::uint32_t> tasks{};         // indices of the tasks in the recording, ascending
  std::vector<planned_exchange> exchanges{};  // by level, ascending
  index_lists after{};                        // by node: the predecessors, which are nodes
  // By node: a number that is greater than those of all predecessors, also of those in other parts.
  std::vector<std::uint32_t> levels{};
  std::vector<std::uint32_t> parts_ahead{};  // indices of earlier parts that must have ended
};

struct recording_plan {
  struct place {
    std::uint32_t part = 0;
    std::uint32_t index = 0;  // index in planned_part::tasks
  };
  std::vector<planned_part> parts;  // the last part ends after all others
  std::vector<place> places;        // by task
};

/// Makes the plan. There is one part for each device. If there are several, they run side by side,
/// and an empty part on the first task's device runs after all others.
///
/// The *level* of a task is the number of tasks on the longest chain of predecessors that leads to
/// it, on any device. A part has an exchange at a level L > 0 if one of its tasks of this level has
/// a predecessor in another part, or if one of its tasks of level L - 1 has a successor there. The
/// exchange runs before the former and after the latter, and after the exchange before. Each of
/// several parts also has an exchange at level 0, before all its tasks, which waits until all other
/// parts have begun. An exchange needs only exchanges of the same or a lower level, and only after
/// it has told its own level, so exchanges cannot wait for each other in a circle.
///
/// The time is proportional to the numbers of tasks and dependencies.
[[nodiscard]] recording_plan plan_recording(task_order const& tasks);

}  // namespace flotilla::dispatch
