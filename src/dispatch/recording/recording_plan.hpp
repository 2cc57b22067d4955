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

/// Tasks of one device that form one graph. Parts are launched in the order of their indices, and a
/// part waits only for parts with lower indices. So no part waits for a part that is launched
/// later. This prevents deadlocks, even if streams share a GPU's few hardware connections.
struct planned_part {
  unsigned device = 0;
  std::vector<std::uint32_t> tasks{};  // indices of the tasks in the recording, ascending
  // By index in `tasks`: the predecessors in this part, as indices in `tasks`.
  index_lists after{};
  std::vector<std::uint32_t> parts_ahead{};  // indices of earlier parts
};

struct recording_plan {
  struct place {
    std::uint32_t part = 0;
    std::uint32_t index = 0;  // index in planned_part::tasks
  };
  std::vector<planned_part> parts;  // the last part runs after all others
  std::vector<place> places;        // by task
};

/// Makes the plan. There is one part for each pair of device and *phase*. A task belongs to the
/// part for its device and its phase. To find the phase, follow every path of dependencies that
/// ends at the task, and count how often the path goes from one device to another. The highest
/// count is the phase.
///
/// If several parts have no successor, the plan adds an empty part on the first task's device. This
/// part runs after all others. The time is proportional to the numbers of tasks and dependencies.
[[nodiscard]] recording_plan plan_recording(task_order const& tasks);

}  // namespace flotilla::dispatch
