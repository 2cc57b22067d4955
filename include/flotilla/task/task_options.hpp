// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The options of a task.

#include <chrono>
#include <optional>
#include <string_view>

#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/task/dependency_list.hpp>
#include <flotilla/task/stop_option.hpp>

namespace flotilla {
inline namespace v0_1 {

/// How a task runs.
struct task_options {
  /// The device of the task. If empty, a launch runs on the device of its first buffer or span, and
  /// a copy or fill on the device of its destination, or of its source if the destination is on the
  /// host. If no argument is on a device, `runtime_options::placement` chooses.
  optional_device device{};
  /// Used in error messages. The runtime copies the text.
  std::string_view label{};
  /// The predecessors: tasks of this runtime, on any device. Launches and copies begin after these
  /// tasks have ended. A callable may run earlier, but its stream waits for these tasks. If one of
  /// them has failed, the task fails with dependency_failed, except a host task that takes errors.
  dependency_list after{};
  /// More predecessors, whose failure does not matter: the task begins after these tasks have
  /// ended, successfully or not. Use it for a task that only must not run too early, such as one
  /// that overwrites what a predecessor reads.
  dependency_list after_end{};
  /// If false, the task is launched alone and shares no batch with other tasks. On GPUs, a kernel
  /// executes the small copies and fills (64 KiB at most) that share a batch, so they need a free
  /// place on a multiprocessor. If a kernel that fills the device waits for a copy, submit the copy
  /// with `false`: then a copy engine executes it.
  bool batch = true;
  /// A stream priority as in cuStreamCreateWithPriority. A lower number is more urgent. 0 is the
  /// default and the least urgent. The runtime clamps the number to the range of the device (H200:
  /// -5 to 0). A device starts its waiting tasks, including copies and callables, in the order of
  /// their priority. The GPU starts blocks of urgent kernels before blocks of less urgent kernels,
  /// but never interrupts a running block. Tasks of all priorities share one window. An urgent task
  /// does not change the priority of the tasks in its `after`.
  int priority = 0;
  /// A std::stop_token. Cancels the task when a stop is requested, as ticket::cancel does. If the
  /// stop was requested before the submit, the task never runs. The error of a cancelled posted
  /// task goes to `runtime_options::on_error`. `request_stop` of the stop source then costs some
  /// atomic operations for each open task. A task with a token allocates memory if no earlier task
  /// in its slot had a token.
  stop_option stop{};
  /// The task must begin before this time. If its launch has not begun by then, the task ends with
  /// timed_out and never runs, even if a predecessor or the device is still busy, and tasks that
  /// have it in `after` fail with dependency_failed. A task that has begun runs to its end. The
  /// captures of a callable that timed out are destroyed as after a run, by a thread that drives
  /// the device, and until then the task keeps its place in the window. A task of a flow ends only
  /// after the tasks before it have ended. In a bulk, the deadline applies to each item, or to each
  /// chunk of items, so some items may run and others not. In single-threaded mode, the program
  /// looks at the clock only in `pump`, `ready` and waits. The first task with a deadline starts a
  /// thread of the runtime, and each such task costs two locks.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  /// Whether the task may run again after it has run in part, because it then gives the same
  /// results: neither it nor a task that depends on it writes what it reads. If an isolated device
  /// is lost, its tasks that had not begun run on the successor in any case, but tasks that may
  /// have begun fail with device_fault, unless this is true. Copies and fills are always
  /// repeatable. Callables and replays never are. A task that may have been running at two losses
  /// fails in any case. So does a task of a flow that reads device memory, if a task of a flow that
  /// depends on it may have begun, too.
  bool repeatable = false;
  /// The rank that runs the task, if its flow runs over several ranks. Without a number, the rank
  /// follows from the data of the task (flotilla::cluster). Other tasks may only name rank 0:
  /// invalid_argument.
  static constexpr int any_rank = -1;
  int rank = any_rank;

  // Always inline: the call of a destructor would need the object in memory (detail/call_form.hpp).
  [[gnu::always_inline]] constexpr ~task_options() {}
};

namespace detail {
/// The options of a task for which the program gives none. As a default argument, it costs less
/// than an object that every call makes.
FLOTILLA_EXPORT extern task_options const& default_options;
}  // namespace detail

}  // namespace v0_1
}  // namespace flotilla
