// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of the order check that name tasks and memory.

#include <cstddef>
#include <cstdint>
#include <limits>

namespace flotilla::dispatch {

/// Tasks are numbered from 1, in the order of their submission.
using task_number = std::uint64_t;

/// The slot and the generation of a task. Two tasks of a runtime never have the same name.
struct task_name {
  std::uint32_t slot = 0;
  std::uint64_t generation = 0;
  bool operator==(task_name const&) const = default;
};

struct task_name_hash {
  std::size_t operator()(task_name const& name) const noexcept {
    return static_cast<std::size_t>((name.generation * 0x9e37'79b9'7f4a'7c15u) ^ name.slot);
  }
};

/// A use of the bytes [begin, end) by one task.
struct memory_access {
  static constexpr unsigned no_argument = std::numeric_limits<unsigned>::max();

  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool reads = false;
  bool writes = false;
  // The number of the allocation. If an address gets a new allocation, tasks that used the old
  // allocation have no conflict with tasks that use the new one.
  std::uint64_t memory = 0;
  unsigned argument = no_argument;  // index of the kernel's argument
};

}  // namespace flotilla::dispatch
