// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tasks that are submitted again and again, as graphs.

#include <chrono>
#include <concepts>
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
  /// The device of the task. If empty, a launch runs on the device of its first buffer or span, or
  /// on device 0 if no argument is on a device. A copy or fill runs on the device of its
  /// destination, or of its source if the destination is on the host.
  optional_device device{};
  /// The predecessors: tasks of this recording, on any device.
  dependency_list after{};
};

/// How a recording is replayed.
struct replay_options {
  dependency_list after{};   ///< the predecessors: tasks of this runtime, on any device
  std::string_view label{};  ///< used in error messages; the runtime copies it
  int priority = 0;          ///< see task_options::priority
  /// If the replay has not begun by this time, it ends with timed_out and never runs. It ends when
  /// its predecessors and the replays before it have ended. Only for recordings of one
  /// device: of several graphs, some may have begun when the deadline passes. A replay with a
  /// deadline can also be cancelled (ticket::cancel). See task_options::deadline.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

/// Launches, copies and fills with dependencies. They are described once and can be submitted any
/// number of times, with the same arguments or with new ones. The recording becomes one CUDA graph
/// for each device. A replay submits one task for each graph, and launches the graphs without
/// making them again. The graphs of several GPUs wait for each other in kernels of one warp, so a
/// recording over several GPUs needs the setting `device_side_waits` (docs/settings.md).
///
/// Order     `after` determines the order of tasks. If more than 64 tasks could begin at once, or
///           if more than 64 tasks depend on the same task, these tasks run as 64 chains. The
///           chains add dependencies, so a kernel in a recording must not wait for another kernel
///           of the recording. Unless runtime_options::fuse_launches is false, launches of one
///           kernel that can run side by side are one grid. They begin after the predecessors of
///           all of them, and their successors run after all of them. Replays of one recording run
///           one after another, in the order of the calls.
/// Content   A recording can contain launches, fills, copies within one device and between devices,
///           and copies from and to pinned memory. It cannot contain copies of pageable memory or
///           callables. Submit these, and order them with `after`. A copy between devices is a task
///           of the device of its destination. If that device can access the memory of the source
///           (see can_access_peer), the copy is direct. Otherwise the driver copies through host
///           memory.
/// Threads   Any thread may call `replay` at any time, even inside a callable. After `finish`, the
///           same is true for `set`. The rules for the other functions are the same as for a
///           std::vector.
/// Lifetime  A recording must end before its runtime does. If it ends later, the destructor prints
///           a message and does nothing else. The memory that arguments name must exist while
///           replays use it. The destructor never waits. The runtime frees the graphs after the
///           last replay has ended.
/// fork      In a child of fork() every function throws used_after_fork, and the destructor does
///           nothing.
class FLOTILLA_EXPORT recording {
 public:
  explicit recording(runtime& owner);
  recording(recording&& other) noexcept;
  recording& operator=(recording&& other) noexcept;
  ~recording();

  /// Adds a task, and copies the arguments of a launch. The call runs nothing.
  /// @return The name of the task for `after` and `set`.
  /// @throws invalid_argument  One of: the grid is empty; the arguments do not match the kernel;
  ///                           the device of a launch cannot access the memory of a buffer on
  ///                           another device; `options` names another device for a copy or fill;
  ///                           the copy uses pageable memory or has no bytes; the value of the fill
  ///                           does not repeat a pattern of 1, 2 or 4 bytes; `after` names a task
  ///                           that is not in this recording; the recording is finished.
  /// @throws unknown_device    There is no such device.
  /// @throws wrong_runtime     The kernel or a buffer belongs to another runtime.
  ///         If the call throws, it has added nothing.
  /// Blocks  never.
  /// Cost    no driver call.
  recorded_task add(launch const& what, recorded_options const& options = {});
  recorded_task add(memory_op const& what, recorded_options const& options = {});
  /// A recording cannot contain other work: a graph runs without the host.
  template <class What>
  requires(!std::convertible_to<What, launch> &&
           !std::convertible_to<What, memory_op>) recorded_task
      add(What&&, recorded_options const& = {}) {
    static_assert(sizeof(What) == 0,
                  "a recording contains launches, copies and fills only: submit other work, and "
                  "order it with replays by `after`");
    return {};
  }

  /// Makes the graphs. Without this call, the first replay makes them. After the graphs are made,
  /// `add` throws invalid_argument. A second call does nothing. The call performs one control
  /// operation on each device.
  /// @throws invalid_argument  The recording has no task; or it uses several GPUs, and the setting
  ///                           `device_side_waits` of one of them is false.
  /// @throws driver_error      The driver refuses a task (the message names the task), or memory is
  ///                           exhausted. The call has released everything that it made. The call
  ///                           can be repeated, for example after `set`.
  /// @throws would_deadlock    The caller is inside a callable, and another thread is finishing the
  ///                           recording or drives a device that this call needs.
  /// @throws runtime_closed, poisoned, used_after_fork
  /// Blocks  for each device in turn, until the thread that drives the device has launched the
  ///         current batch.
  /// Cost    below a microsecond for each task that becomes part of a grid. For every other task,
  ///         what the driver needs to make a node of a graph: some microseconds on a GPU.
  void finish();

  /// Submits all tasks of the recording.
  /// @return One ticket for all of these tasks. If a task fails, tasks that do not depend on it may
  ///         still be running when the ticket reports the error.
  /// @throws invalid_argument  An entry of `after` names no task.
  /// @throws wrong_runtime     A task in `after` belongs to another runtime.
  /// @throws window_full       A window is full, and the caller is inside a callable, where it must
  ///                           not wait.
  /// @throws runtime_closed, poisoned, used_after_fork, missing_dependency (see runtime::submit).
  ///         The first replay also throws the errors of `finish`.
  ///         If the call throws, it has submitted nothing.
  ///
  /// Errors  The ticket reports driver_error if a device refused a graph or the arguments of `set`.
  ///         In this case no task of the graph runs, and graphs that depend on this graph fail with
  ///         dependency_failed. Later replays try to launch the graph again. To repair the graph,
  ///         `set` the task to valid arguments. The ticket reports dependency_failed if a task in
  ///         `after` failed. The failure of a replay does not make the next replay fail, with one
  ///         exception: if the driver had no memory to change the graph, all later replays fail,
  ///         because an H200 faults if it launches such a graph. Then make the recording again.
  ///         If an isolated device was lost, each graph of the replay on this device fails with
  ///         device_fault if it may have been running, or if it was launched before the changes of
  ///         a later replay were made. Any other graph is launched again, in the next worker
  ///         process. Graphs that depend on a failed graph fail with dependency_failed, and the
  ///         ticket reports the failure of the last graph.
  /// Blocks  only while a window is full. Then the caller helps to drain the device, as in
  ///         `runtime::submit`. The first replay also blocks as `finish` does.
  /// Cost    no driver call. The thread that drives the device pays one launch for each graph. A
  ///         task that was changed with `set` costs some 10 ns if it is part of a grid, and each
  ///         changed grid costs one driver call if another replay is in flight. A changed task that
  ///         is not part of a grid costs one driver call. If the kernel, the block size or the
  ///         shared memory of a task in a grid was changed, or if the task got many blocks, a new
  ///         graph is made, in which the task is not part of a grid. Replays allocate only if
  ///         `after` has more than two tasks, if more replays with changes are in flight than ever
  ///         before, or if a new graph is made.
  ticket replay(replay_options const& options = {});

  /// Replaces the task `which` for all later replays. A launch may get other arguments or another
  /// kernel. A copy or fill may get other memory or another size. The task stays on its device.
  /// Replays that are already submitted do not change.
  /// @throws invalid_argument  `which` is not in this recording; or `what` has another kind (a
  ///                           launch must stay a launch, a fill must stay a fill, and a copy must
  ///                           keep its direction and the device of its source); or `add` would
  ///                           refuse `what`.
  /// @throws wrong_runtime     The kernel or a buffer belongs to another runtime.
  ///         If the call throws, the task is unchanged. If the device refuses the change later, the
  ///         ticket of the replay reports the error.
  /// Blocks  never.
  /// Cost    no driver call.
  void set(recorded_task which, launch const& what);
  void set(recorded_task which, memory_op const& what);

  /// Returns the number of tasks.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  struct impl;
  [[nodiscard]] impl& checked() const;
  std::unique_ptr<impl> impl_;  // null after a move
};

}  // namespace v0_1
}  // namespace flotilla
