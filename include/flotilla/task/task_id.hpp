#pragma once
/// Names of tasks.

#include <cstdint>

#include <flotilla/detail/access.hpp>

namespace flotilla {
inline namespace v0_1 {

/// Names a submitted task and holds no resources of it. It stays valid after the task's ticket is
/// gone: a task that names it in `after` still runs after it, and wait_any and when_all see its
/// end. If the task failed and its ticket is gone, its error may be forgotten, and then the task
/// counts as successful.
struct task_id {
  std::uint64_t runtime = 0;  ///< the runtime's number in this process; 0: names no task
  std::uint32_t slot = 0;
  std::uint64_t generation = 0;
};

/// Names a task of a recording and holds no resources of it. A default-constructed one names none.
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
