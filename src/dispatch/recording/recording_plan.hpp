#pragma once
// Which graphs recorded tasks become, and in which order those run. Pure: no driver, no runtime.

#include <cstdint>
#include <span>
#include <vector>

namespace flotilla::dispatch {

/// The most successors of a node and the most roots of a graph: more side by side would cost device memory, 128 KiB for each
/// chain; and where they are roots, some 750 ns of the launching thread each, unless a kernel of ours is ahead of them.
inline constexpr std::size_t most_side_by_side = 64;

struct task_to_plan {
  unsigned device = 0;
  std::vector<std::uint32_t> after{};  // earlier tasks
};

/// Tasks of one device that go out as one graph. A part waits only for parts before it, so it never waits for what is
/// launched behind it, however few connections a GPU has.
struct planned_part {
  unsigned device = 0;
  std::vector<std::uint32_t> tasks{};                // in the order of their numbers; each is a node
  std::vector<std::vector<std::uint32_t>> after{};   // of each node: earlier nodes
  std::vector<std::uint32_t> leaves{};               // nodes that no node is behind
  std::vector<std::uint32_t> parts_ahead{};          // earlier parts
};

struct recording_plan {
  struct place { std::uint32_t part = 0, node = 0; };
  std::vector<planned_part> parts;  // the last is behind all others
  std::vector<place> places;        // of each task
};

/// A task lies in the part of its device and its *phase*: the number of changes of device on the way to it. Order that
/// was not asked for is added where too many would be side by side: the 65th goes behind the first, and so on, as
/// chains. Where several parts are behind all others an empty one on the first task's device joins them.
[[nodiscard]] recording_plan plan_recording(std::span<task_to_plan const> tasks);

}  // namespace flotilla::dispatch
