#pragma once
/// Tasks that are submitted again and again, as graphs.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/memory/memory_op.hpp>
#include <flotilla/task/dependency_list.hpp>
#include <flotilla/task/task_id.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

class runtime;

/// How a task is recorded.
struct recorded_options {
  /// Where the task runs. Empty: on the device of its arguments, else on device 0.
  std::optional<device_ordinal> device{};
  /// Predecessors: tasks of this recording, on any device.
  dependency_list after{};
};

/// How a recording is replayed.
struct replay_options {
  dependency_list after{};   ///< predecessors: tasks of this runtime, any device
  std::string_view label{};  ///< for messages; copied
  int priority = 0;          ///< as task_options::priority
};

/// Launches, copies and fills with dependencies, which are described once and submitted as often as
/// you like, with the same arguments or with new ones. They become one CUDA graph for each device,
/// and another one each time that the work comes back to a device from another device. A replay
/// submits one task for each graph. The driver then launches graphs that exist already.
///
/// Order     Tasks run as `after` says. If more than 64 tasks could begin at once, or depend on one
///           task, they run as 64 chains in the order in which they were added. That is more order
///           than was asked for, so recorded tasks must not wait for each other. Replays of one
///           recording run one after another, in the order of the calls.
/// What      Launches, fills, copies within one device, and copies from and to pinned memory.
///           Copies of pageable memory, copies between devices, and callables cannot be recorded:
///           submit them, and order them with `after`.
/// Threads   `replay`, and `set` after `finish`: any, at any time, also inside a callable. The
///           rest: as a std::vector.
/// Lifetime  Must end before its runtime does. The memory that arguments name must exist while
///           replays use it. Destroying a recording never waits: its graphs are freed after its
///           last replay.
/// fork      In a child of fork() every function throws used_after_fork, and the destructor does
///           nothing.
class FLOTILLA_EXPORT recording {
 public:
  explicit recording(runtime& owner);
  recording(recording&& other) noexcept;
  recording& operator=(recording&& other) noexcept;
  ~recording();

  /// Adds a launch with a copy of its arguments, or a copy or fill, which runs on its buffer's
  /// device. Nothing runs now.
  /// @return The name of the task for `after` and `set`.
  /// @throws invalid_argument  An empty grid; arguments that do not fit the kernel; a buffer of
  ///                           another device than the one named; a copy of pageable memory,
  ///                           between devices, or of nothing; a fill with a value that does not
  ///                           repeat 1, 2 or 4 bytes; an entry of `after` that is no task of this
  ///                           recording; or the recording is finished.
  /// @throws unknown_device    There is no such device.
  /// @throws wrong_runtime     The kernel or a buffer belongs to another runtime.
  ///         If it throws, nothing was added.
  /// Blocks  never. Cost: no driver call.
  recorded_task add(launch const& what, recorded_options const& options = {});
  recorded_task add(memory_op const& what, recorded_options const& options = {});

  /// Makes the graphs now instead of at the first replay. Nothing can be added afterwards. A second
  /// call does nothing. It performs one control operation on each device.
  /// @throws invalid_argument  The recording has no task, or needs more graphs on a device than the
  ///                           device's window has slots.
  /// @throws driver_error      The driver refuses a task, which the message names, or has no
  ///                           memory. Nothing is left behind, and it can be tried again, for
  ///                           example after `set`.
  /// @throws would_deadlock    The caller is inside a callable, and another thread is finishing the
  ///                           recording or drives a device that is needed.
  /// @throws runtime_closed, poisoned, used_after_fork
  /// Blocks  for each device in turn: at most the current batch of the thread that drives it.
  /// Cost    some microseconds for each task.
  void finish();

  /// Submits all tasks.
  /// @return A ticket of all of them. If a replay fails, tasks that do not depend on the failed one
  ///         may still run when the ticket reports the error.
  /// @throws invalid_argument  A ticket in `after` names no task; or what `finish` throws.
  /// @throws wrong_runtime     A ticket in `after` belongs to another runtime.
  /// @throws window_full       A window is full, and the caller is inside a callable, where it must
  ///                           not wait.
  /// @throws runtime_closed, poisoned, used_after_fork; the first time also what `finish` throws
  ///         If it throws, nothing was queued.
  ///
  /// Errors  On the ticket. driver_error: a device refused a graph, or the arguments of `set`. Then
  ///         nothing of that graph runs, and graphs that depend on it fail with dependency_failed.
  ///         Later replays try again until the task is `set` to something valid. dependency_failed:
  ///         a task in `after` failed. A replay does not fail because the previous one did.
  /// Blocks  only while a window is full; then it helps to drain it, as `runtime::submit` does. The
  ///         first replay also blocks as `finish` does.
  /// Cost    no driver call. The thread that drives the device pays one launch for each graph. For
  ///         each task that was set it pays 20 ns if the GPU makes the change, else one update of a
  ///         node; and once a new graph if the kernel or its block changed. Replays allocate only
  ///         if `after` has more than two tasks.
  ticket replay(replay_options const& options = {});

  /// Changes the task from the next replay on: other arguments or another kernel; other memory or
  /// another size of a copy or fill. Replays that were submitted before are not changed.
  /// @throws invalid_argument  `which` belongs to another recording; or the kind changes (a launch
  ///                           stays a launch, a fill a fill, and a copy keeps its direction); or
  ///                           as `add`. The task keeps its device.
  /// @throws wrong_runtime     As `add`.
  ///         If it throws, the task is unchanged.
  /// Blocks  never. Cost: no driver call. If the device refuses the change, the replay's ticket has
  ///         the error.
  void set(recorded_task which, launch const& what);
  void set(recorded_task which, memory_op const& what);

  /// The number of tasks.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  struct impl;
  [[nodiscard]] impl& checked() const;
  std::unique_ptr<impl> impl_;  // null: moved from
};

}  // namespace v0_1
}  // namespace flotilla
