// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans the nodes of one graph: which tasks form a grid, and which node runs after which. This code
// uses neither a driver nor a runtime.

#include <cstdint>
#include <span>
#include <vector>

#include "dispatch/recording/bounded_edges.hpp"
#include "dispatch/recording/index_lists.hpp"

namespace flotilla::dispatch {

/// What the plan must know of a task.
struct task_share {
  // Tasks with the same form can be one grid of a kernel's twin. 0: the task is a node of its own.
  std::uint32_t form = 0;
  std::uint32_t blocks = 0;  // of the task; only used if it has a form
  // If a level has fewer tasks of this form, they are nodes of their own.
  std::uint32_t min_on_level = 0;
  bool is_exchange = false;  // the task is an exchange with other devices (planned_exchange)
};

struct node_plan {
  // The minimum number of tasks in a grid. Below it, nodes of their own start sooner.
  static constexpr std::uint32_t min_tasks = 4;
  static constexpr std::uint32_t max_tasks = 1u << 16;   // in a grid
  static constexpr std::uint32_t max_blocks = 1u << 20;  // of a grid

  index_lists tasks;  // by node: the tasks, ascending; a node of several tasks is a grid
  index_lists after;  // by node: the nodes after which it runs directly; smaller, each once
  std::vector<std::uint32_t> node_of;  // by task
  std::vector<std::uint32_t> leaves;   // nodes without successors

  [[nodiscard]] bool is_grid(std::uint32_t node) const noexcept { return tasks[node].size() > 1; }
};

/// Makes the plan. The *level* of a task is greater than those of its predecessors. Tasks of one
/// level do not depend on each other, so tasks of one level and one form can be a grid.
///
/// A grid runs after all predecessors of all of its tasks. So that tasks do not wait for
/// predecessors of other tasks without need, a grid consists of tasks with the same predecessors,
/// where all tasks of an earlier grid count as one predecessor. In a regular recording, for example
/// a stencil, all tasks of a level and a form are therefore one grid. But if a level would fall
/// into many small groups, these groups form one grid, because a device needs less time to wait for
/// the level than to start all groups one after another: at most 16 groups of at least 8 tasks of
/// one level and form are grids of their own. The other groups are joined if they would be more
/// than 4 nodes. Tasks of a form whose level follows an exchange form one grid: the exchange takes
/// longer than they do, and the tasks that wait for it are on the critical path.
///
/// A node is ordered after its direct predecessors only: predecessors that other predecessors
/// already wait for are left out if that is cheap to see. A node may have at most max_side_by_side
/// (64) direct successors, and a graph at most 64 roots. If there are more, the plan adds
/// dependencies among these successors or roots: the 65th runs after the first, the 66th after the
/// second, and so on. Nodes are numbered by level, and inside a level by their first task.
///
/// The time is proportional to the numbers of tasks and dependencies, except for sorting the tasks
/// of a level.
/// @param after   By task: its predecessors. May name a task more than once.
/// @param levels  By task.
/// @param shares  By task.
[[nodiscard]] node_plan plan_nodes(index_lists const& after, std::span<std::uint32_t const> levels,
                                   std::span<task_share const> shares);

}  // namespace flotilla::dispatch
