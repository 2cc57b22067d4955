// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Maps from tasks.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>

#include <flotilla/task/task_id.hpp>

namespace flotilla::flows {

struct task_hash {
  [[nodiscard]] std::size_t operator()(task_id const& id) const noexcept {
    return std::hash<std::uint64_t>{}(std::uint64_t{id.generation} * 0x9e37'79b9'7f4a'7c15u +
                                      id.slot);
  }
};
/// Compares tasks of one runtime.
struct same_task {
  [[nodiscard]] bool operator()(task_id const& a, task_id const& b) const noexcept {
    return a.slot == b.slot && a.generation == b.generation;
  }
};
template <class Value>
using task_map = std::unordered_map<task_id, Value, task_hash, same_task>;

}  // namespace flotilla::flows
