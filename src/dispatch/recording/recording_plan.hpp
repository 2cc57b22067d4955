#pragma once
// Plans which graphs recorded tasks become, and in which order the graphs run. Uses no driver and
// no runtime.

#include <cstdint>
#include <span>
#include <vector>

namespace flotilla::dispatch {

/// The most successors of a node, and the most roots of a graph. More parallel chains would cost
/// 128 KiB of device memory each, and every root costs the launching thread 750 ns unless the graph
/// has an entry node.
inline constexpr std::size_t max_side_by_side = 64;

struct task_to_plan {
  unsigned device = 0;
  std::vector<std::uint32_t> after{};  // earlier tasks
};

/// Tasks of one device that go out as one graph. A part waits only for earlier parts, and parts are
/// launched in order. So no part waits for one that is launched after it, however few hardware
/// connections a GPU has.
struct planned_part {
  unsigned device = 0;
  std::vector<std::uint32_t> tasks{};               // in ascending order; each is a node
  std::vector<std::vector<std::uint32_t>> after{};  // for each node: earlier nodes
  std::vector<std::uint32_t> leaves{};              // nodes without successors
  std::vector<std::uint32_t> parts_ahead{};         // earlier parts
};

struct recording_plan {
  struct place {
    std::uint32_t part = 0, node = 0;
  };
  std::vector<planned_part> parts;  // the last one runs after all others
  std::vector<place> places;        // for each task
};

/// A task belongs to the part of its device and its *phase*: how often its predecessors change the
/// device on the longest way to it. If more than max_side_by_side nodes could run in parallel, the
/// plan adds order that was not asked for: the 65th runs after the first, and so on, as chains. If
/// several parts have no successor, an empty part on the first task's device joins them.
[[nodiscard]] recording_plan plan_recording(std::span<task_to_plan const> tasks);

}  // namespace flotilla::dispatch
