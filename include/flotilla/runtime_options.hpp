// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The options of a runtime.

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <flotilla/settings/checks.hpp>
#include <flotilla/settings/settings.hpp>
#include <flotilla/task/executor.hpp>
#include <flotilla/task/placement.hpp>

namespace flotilla {
inline namespace v0_1 {

/// How often the worker process of an isolated device may be replaced. The terms are those of OTP.
/// Empty members have the values of the settings "restart.intensity" and so on (settings.hpp).
struct restart_options {
  /// If a device is lost more often than this within `period`, it is quarantined. 0: at the first
  /// loss. The default is 10.
  std::optional<unsigned> intensity{};
  /// The default is 60 s. Must be at least 1 ms and at most 24 h.
  std::optional<std::chrono::milliseconds> period{};
  /// The time between a loss and the next worker process, if the device was lost before within
  /// `period`. The default is 0. Must be at most 24 h.
  std::optional<std::chrono::milliseconds> back_off{};
};

struct runtime_options {
  static constexpr int automatic = -1;

  /// The devices of the runtime. Only these devices get a context. The text is a list, separated by
  /// commas, of "auto", "cuda", "cuda:0,2", "cpu", "cpu:4", or a UUID or PCI id as printed by
  /// `flotilla devices`. "auto" means all GPUs, or CPU devices if there is no GPU. "cpu:4" means
  /// four CPU devices. Any item except "auto" may end with a division such as "/green:16*8": each
  /// device of the item becomes eight devices, each of which is a green context with 16
  /// multiprocessors. If empty, the environment variable FLOTILLA_DEVICES is used. If that variable
  /// is not set either, "auto" is used.
  std::string devices{};
  /// The maximum number of oneTBB threads that drive devices at the same time. With 0, the runtime
  /// is in single-threaded mode: tasks make progress only in `pump()` and waits. `automatic` is the
  /// number of devices, but at most cores - 1 and at least 1. Unless 0, up to three more threads of
  /// oneTBB take part in large copies of pageable memory, and oneTBB need not provide any thread.
  int workers = automatic;
  /// The maximum number of open tasks of one device, between 64 and 65000. If empty, the setting
  /// "window" applies. The default of that setting is 16384. A task's place becomes free shortly
  /// after its ticket is ready, so a `try_submit` right after a wait may still find no place.
  std::optional<std::size_t> window{};
  /// The time for which an idle worker polls for more work before the worker ends. The wait
  /// policies of the devices decide whether the worker spins or yields. If all policies are
  /// `blocking`, an idle worker ends at once.
  std::chrono::microseconds linger{50};
  /// Settings of the devices. They override the settings of the environment (see settings.hpp).
  flotilla::settings settings{};
  /// If false, the constructor of the runtime throws when the driver refuses a setting. If true,
  /// the driver's default remains, and the settings report shows the refusal. A context source that
  /// the driver refuses is always an error.
  bool best_effort = false;
  /// Chooses the device for tasks that name no device. Null means any_device.
  std::shared_ptr<flotilla::placement> placement{};
  /// Called with the error of each posted task that failed. The error is the one that
  /// `ticket::wait` would throw. If the driver is poisoned, one call reports the error for all open
  /// posted tasks. The function runs as a continuation (see ticket::then), possibly on several
  /// threads at the same time. If empty, the runtime prints on stderr the error of each posted task
  /// that failed first, and later how many posted tasks did not run because of it. It does not
  /// print cancellations, which the program has asked for.
  std::function<void(std::exception_ptr)> on_error{};
  /// The checks that the runtime makes on every submitted task. If empty, the environment variable
  /// FLOTILLA_CHECK is used. By default, the runtime makes none of these checks.
  std::optional<flotilla::checks> checks{};
  /// If true, tasks of one kernel that may run side by side are launched as one grid, provided that
  /// the kernel has a twin (docs/kernels.md#twins), also in recordings. If false, each task is a
  /// kernel launch of its own. The results are the same, but the tasks of a grid end together. With
  /// grids, tasks without an order between them also run at the same time on CPU devices, which
  /// otherwise run one kernel after the other. Such tasks must not write the same memory, as on a
  /// GPU. Small copies and fills also share grids on GPUs.
  bool fuse_launches = true;
  /// Decides which threads run continuations. Null: threads of the runtime, see executor. In
  /// single-threaded mode, null means that continuations run inside `pump()` and waits. The runtime
  /// keeps the executor until the runtime and the last ticket are gone.
  std::shared_ptr<executor> continuation_executor{};
  /// If a callable runs longer than this, the runtime prints its label, its device and its time on
  /// stderr, after the callable has returned. The runtime does so only once. It does the same for a
  /// continuation that runs inside `pump()` or a wait while a task is open, because then the
  /// devices of the runtime are stalled. Zero: no report.
  std::chrono::milliseconds report_calls_longer_than{10};
  /// If a wait, or the end of the runtime, lasts longer than this, the runtime prints on stderr
  /// what it waits for: the kernel, the label and the device. Then it goes on waiting. The runtime
  /// prints at most one line for each wait, and waits for twice as long before the next line. A
  /// wait with the policy `blocking` prints nothing in single-threaded mode. Zero: no report.
  std::chrono::milliseconds report_waits_longer_than{10'000};
  /// If work that was launched on a device does not end for so long, the device is stuck: see
  /// device_health. The runtime prints the tasks on stderr. A thread of the runtime looks at the
  /// devices eight times in this time, but at most every millisecond and at least every second. If
  /// another thread is inside a call of the driver for the device, it takes twice the time until
  /// the device counts as stuck, and the report has no tasks.
  /// Zero: no device is ever stuck. Must not be negative. If an isolated device is stuck, its
  /// worker process is ended and replaced: see device_fault. If empty, the setting "stuck_after" of
  /// each device applies, which the environment variable FLOTILLA_STUCK_AFTER can set. The default
  /// of that setting is 0.
  std::optional<std::chrono::milliseconds> stuck_after{};
  /// The program `flotilla-worker`, which runs isolated devices (settings, "isolation"). If empty,
  /// the environment variable FLOTILLA_WORKER, except in set-user-id programs. If that is not set
  /// either, the program is looked for next to flotilla's own library. The first runtime of the
  /// process with an isolated device chooses the program.
  std::string worker_path{};
  /// For isolated devices: when a device that was lost is not replaced any more.
  restart_options restart{};
};

}  // namespace v0_1
}  // namespace flotilla
