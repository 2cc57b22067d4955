// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A folder in the form of /sys/devices/system/node, for tests.

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/processor_mask.hpp"

namespace flotilla::test {

/// The destructor deletes the folder.
class numa_tree {
 public:
  /// @param lists  The list of processors of each node, from node 0 on.
  explicit numa_tree(std::vector<std::string> const& lists = {}) {
    std::string name = (std::filesystem::temp_directory_path() / "flotilla_nodes_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) { ADD_FAILURE() << "no folder " << name; }
    root_ = name;
    for (std::size_t i = 0; i < lists.size(); ++i) { add("node" + std::to_string(i), lists[i]); }
  }
  ~numa_tree() { std::filesystem::remove_all(root_); }
  numa_tree(numa_tree const&) = delete;
  numa_tree& operator=(numa_tree const&) = delete;

  void add(std::string const& folder, std::string const& list) const {
    std::filesystem::create_directory(root_ / folder);
    std::ofstream{root_ / folder / "cpulist"} << list << '\n';
  }
  [[nodiscard]] std::filesystem::path const& root() const noexcept { return root_; }

 private:
  std::filesystem::path root_;
};

[[nodiscard]] inline base::processor_mask mask_of(std::vector<std::size_t> const& processors) {
  base::processor_mask made;
  for (std::size_t const each : processors) { made.add(each); }
  return made;
}

/// Returns the processors that the main thread may use.
[[nodiscard]] inline std::vector<std::size_t> own_processors() {
  auto const mask = base::processor_mask::of_thread(::getpid());
  std::vector<std::size_t> made;
  for (std::size_t i = 0; mask && i < base::processor_mask::max_processors; ++i) {
    if (mask->contains(i)) { made.push_back(i); }
  }
  return made;
}

}  // namespace flotilla::test
