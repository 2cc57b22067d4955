#pragma once
/// Tasks that are submitted again and again, as graphs.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <flotilla/device.hpp>
#include <flotilla/export.hpp>
#include <flotilla/launch.hpp>
#include <flotilla/ticket.hpp>
#include <flotilla/transfer.hpp>

namespace flotilla {

namespace dispatch {
class recorder;
}

class runtime;

/// Names a task of a recording; keeps nothing of it. A default-made one names none.
class recorded_task {
 public:
  constexpr recorded_task() = default;

 private:
  friend class dispatch::recorder;
  std::uint64_t recording_ = 0;
  std::uint32_t index_ = 0;
};

/// How a task is recorded.
struct recorded_options {
  std::optional<device_ordinal> device{};  ///< where; empty: as the arguments say, else device 0. None is pulled.
  std::vector<recorded_task> after{};      ///< tasks of this recording to run after, of any device
};

/// How a recording is replayed.
struct replay_options {
  dependency_list after{};   ///< tasks of this runtime, of any device, to run after
  std::string_view label{};  ///< for messages; copied
  int priority = 0;          ///< as of a task: see task_options
};

/// Launches, copies and fills with dependencies, described once and submitted as often as wanted, each time with the same arguments or
/// with others. They become one CUDA graph a device, and one more each time that the work comes back to a device from
/// another. A replay costs a task a graph to submit, and what the driver takes to launch graphs that it has.
///
/// Order     Tasks run as `after` says. Where more than 64 could begin at once, or are behind one task, they run as 64
///           chains, in the order in which they were added: order that was not asked for, so recorded tasks must not
///           wait for each other. Replays of one recording run one after another, in the order of the calls.
/// What      Launches; fills, copies within one device, and copies from and to pinned memory (host_buffer). What else there
///           is goes beside it, with `after`: copies of pageable memory, copies between devices, callables.
/// Threads   `replay` and, once it is finished, `set`: any, at any time, also inside a callable. All else as a std::vector.
/// Lifetime  Must end before its runtime does. What the arguments name must stay while replays use it. Destroying it
///           never waits and loses nothing: what it has of the driver is freed behind its last replay.
/// fork      In a child of fork() every function throws used_after_fork, and the destructor does nothing.
class FLOTILLA_EXPORT recording {
 public:
  explicit recording(runtime& owner);
  recording(recording&& other) noexcept;
  recording& operator=(recording&& other) noexcept;
  ~recording();

  /// Adds a launch, its arguments copied; or a copy or fill, which runs on its buffer's device. Nothing runs now.
  /// @return What names it in `after` and `set`.
  /// @throws invalid_argument  Zero grid, arguments that do not fit the kernel, a buffer of another device than the one
  ///                           named, a copy of pageable memory, between devices or of nothing; a task in `after` that
  ///                           is of another recording; or the recording is finished.
  /// @throws unknown_device    There is no such device.
  /// @throws wrong_runtime     The launch was made by a kernel of another runtime, or a buffer belongs to one.
  ///         Whatever is thrown, nothing was added.
  /// Blocks  never. Cost: no driver call.
  recorded_task add(launch const& what, recorded_options const& options = {});
  recorded_task add(transfer const& what, recorded_options const& options = {});

  /// Makes the graphs now; else the first replay does. Nothing can be added afterwards. Does nothing the second time.
  /// A control operation of each device.
  /// @throws invalid_argument  It holds no task; or more graphs of one device than that has slots in its window.
  /// @throws driver_error      The driver refuses a task, which is named, or has no room. Nothing is left behind: it can
  ///                           be tried again, after `set` perhaps.
  /// @throws would_deadlock    Inside a callable, while another thread is at it, or has a lease that would be waited for.
  /// @throws runtime_closed, poisoned, used_after_fork
  /// Blocks  for the lease of each device in turn: the current batch of whoever drives it, at most.
  /// Cost    some microseconds a task.
  void finish();

  /// Submits all tasks, those that run after others included.
  /// @return A ticket that is done when every task has ended. Of a replay that fails, what does not depend on what
  ///         failed may still run when the ticket says so.
  /// @throws invalid_argument  A ticket in `after` names no task; or what `finish` throws.
  /// @throws wrong_runtime     A ticket in `after` is of another runtime.
  /// @throws queue_full        A window is full and the caller is inside a callable, where it may not wait.
  /// @throws runtime_closed, poisoned, used_after_fork, and what `finish` throws, the first time.
  ///         Whatever is thrown, nothing was queued.
  ///
  /// Errors  On the ticket: driver_error, when a device refuses what `set` said or a graph; then nothing of that graph runs, and
  ///         nothing behind it: dependency_failed with that cause where other graphs are. Later replays try it again until it is
  ///         `set` anew. dependency_failed, when one in `after` failed. A replay does not fail because the one before did.
  /// Blocks  only while a window is full, helping to drain it, as `runtime::submit` does; and the first time as `finish`.
  /// Cost    no driver call. Of the thread that drains: a launch a graph, and for each task that was set 20 ns if its GPU makes the change,
  ///         else a rewrite; once, for another kernel or block, a new graph. Steady, allocates for over two in `after` only.
  ticket replay(replay_options const& options = {});

  /// Has the task do `what` from the next replay on: the same kernel with other arguments, or another one; a copy or fill of
  /// other memory or of another size. Replays submitted before keep what they had.
  /// @throws invalid_argument  `which` is of another recording, or of another kind: a launch stays one, so does a fill, and
  ///                           a copy keeps its direction; or as `add`: the task keeps its device.
  /// @throws wrong_runtime     As `add`.
  ///         Whatever is thrown, the task is as it was.
  /// Blocks  never. Cost: no driver call; what a device says of it the replay's ticket says.
  void set(recorded_task which, launch const& what);
  void set(recorded_task which, transfer const& what);

  /// How many tasks were added.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  [[nodiscard]] dispatch::recorder& recorder() const;
  std::unique_ptr<dispatch::recorder> recorder_;  // null: moved from
};

}  // namespace flotilla
