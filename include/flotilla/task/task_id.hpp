// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Names of tasks.

#include <cstdint>

#include <flotilla/detail/access.hpp>

namespace flotilla {
inline namespace v0_1 {

/// The name of a submitted task. An id owns nothing and stays valid after the task's ticket is
/// gone: `after` and wait_any accept it. If the task failed and its ticket is gone, the runtime may
/// have forgotten the error. The task then counts as successful. Only the runtime makes ids: the
/// behaviour for an id with other values is undefined.
struct task_id {
  std::uint64_t runtime = 0;  ///< the runtime's number in this process; 0 if the id names no task
  std::uint32_t slot = 0;
  std::uint64_t generation = 0;
};

/// The name of a task in a recording. It owns nothing. A default-constructed object names no task.
class recorded_task {
 public:
  constexpr recorded_task() = default;

 private:
  friend struct detail::access;
  friend class dependency_list;
  std::uint64_t recording_ = 0;
  std::uint32_t index_ = 0;
};

}  // namespace v0_1
}  // namespace flotilla
