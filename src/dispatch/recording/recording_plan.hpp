// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans which graphs the recorded tasks form, and in which order the graphs run. This code uses
// neither a driver nor a runtime.

#include <cstdint>
#include <span>
#include <vector>

namespace flotilla::dispatch {

/// The maximum number of successors of one node, and the maximum number of roots of one graph. Each
/// further parallel chain would cost 128 KiB of device memory. Each further root would cost the
/// launching thread 750 ns if the graph has no entry node.
inline constexpr std::size_t max_side_by_side = 64;

struct task_to_plan {
  unsigned device = 0;
  std::vector<std::uint32_t> after{};  // indices of the earlier tasks that must end first
};

/// Tasks of one device that form one graph. Parts are launched in the order of their indices, and a
/// part waits only for parts with lower indices. So no part waits for a part that is launched
/// later. This prevents deadlocks, even if streams share a GPU's few hardware connections.
struct planned_part {
  unsigned device = 0;
  std::vector<std::uint32_t> tasks{};  // indices of the tasks, ascending; each task is a node
  std::vector<std::vector<std::uint32_t>> after{};  // by node: the predecessors of the node
  std::vector<std::uint32_t> leaves{};              // nodes without successors
  std::vector<std::uint32_t> parts_ahead{};         // indices of earlier parts
};

struct recording_plan {
  struct place {
    std::uint32_t part = 0, node = 0;
  };
  std::vector<planned_part> parts;  // the last part runs after all others
  std::vector<place> places;        // by task
};

/// Makes the plan. There is one part for each pair of device and *phase*. A task belongs to the
/// part for its device and its phase. To find the phase, follow every path of dependencies that
/// ends at the task, and count how often the path goes from one device to another. The highest
/// count is the phase.
///
/// A node may have at most max_side_by_side (64) direct successors, and a graph at most 64 roots.
/// If there are more, the plan adds dependencies among these successors or roots: the 65th runs
/// after the first, the 66th after the second, and so on. If several parts have no successor, the
/// plan adds an empty part on the first task's device. This part runs after all others.
[[nodiscard]] recording_plan plan_recording(std::span<task_to_plan const> tasks);

}  // namespace flotilla::dispatch
