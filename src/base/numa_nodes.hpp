// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The NUMA nodes whose processors this process may use.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/processor_mask.hpp"

namespace flotilla::base {

/// Reads a list of processors as the kernel writes it, such as "0-3,8,10-11". Returns nothing if
/// the text has any other form. An empty text is an empty set.
[[nodiscard]] std::optional<processor_mask> parse_processors(std::string_view text);

/// The NUMA nodes of the machine that have processors of this process. The numbers of the nodes are
/// those of the operating system. The constructor reads the nodes, and nothing changes later.
/// Threads: any.
class numa_nodes {
 public:
  /// Reads the nodes of this machine. Ignores nodes that it cannot read, nodes without processors
  /// (for example memory of GPUs), and nodes that are offline.
  /// @param root     A folder in the form of /sys/devices/system/node. It may be missing.
  /// @param allowed  The processors that the process may use.
  numa_nodes(std::filesystem::path const& root, processor_mask const& allowed);
  /// The same with the affinity mask of the main thread, because the calling thread may be pinned.
  explicit numa_nodes(std::filesystem::path const& root = "/sys/devices/system/node");

  /// Returns the number of nodes that have processors of this process.
  [[nodiscard]] std::size_t usable() const noexcept { return usable_.size(); }
  /// Returns the processors of a node that this process may use. Null if there are none, or if the
  /// node is unknown.
  [[nodiscard]] processor_mask const* processors_of(int node) const noexcept;
  /// Returns why threads and memory have no reason to prefer this node. Empty if they have one.
  /// @param node  A number, or -1 if the node is unknown.
  [[nodiscard]] std::string refusal(int node) const;

 private:
  std::map<int, processor_mask> usable_;  // the processors of each node that are allowed
};

}  // namespace flotilla::base
