// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The runtime: it has one floating context for each device, and threads that drive the devices.

#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <flotilla/detail/export.hpp>
#include <flotilla/device/counters.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/device/memory_info.hpp>
#include <flotilla/error/error.hpp>
#include <flotilla/kernel/image.hpp>
#include <flotilla/kernel/kernel.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/kernel/program.hpp>
#include <flotilla/memory/device_buffer.hpp>
#include <flotilla/memory/device_span.hpp>
#include <flotilla/memory/host_buffer.hpp>
#include <flotilla/memory/host_span.hpp>
#include <flotilla/memory/memory_op.hpp>
#include <flotilla/settings/checks.hpp>
#include <flotilla/settings/settings.hpp>
#include <flotilla/settings/settings_report.hpp>
#include <flotilla/task/callable.hpp>
#include <flotilla/task/completion.hpp>
#include <flotilla/task/dependency_list.hpp>
#include <flotilla/task/executor.hpp>
#include <flotilla/task/placement.hpp>
#include <flotilla/task/task_options.hpp>
#include <flotilla/task/ticket.hpp>

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
  /// is in single-threaded mode: tasks make progress only inside `pump()` and waits. `automatic`
  /// means the number of devices, but at most cores - 1 and at least 1. Unless it is 0, up to three
  /// more threads of oneTBB take part in large copies of pageable memory.
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
  /// threads at the same time. If empty, the errors are printed on stderr.
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
  /// If work that was launched on a device does not end for so long, the device is stuck: see
  /// device_health. The runtime prints the tasks on stderr. A thread of the runtime looks at the
  /// devices eight times in this time, but at most every millisecond and at least every second.
  /// Zero: no device is ever stuck. Must not be negative. If an isolated device is stuck, its
  /// worker process is ended and replaced: see device_fault.
  std::chrono::milliseconds stuck_after{0};
  /// For isolated devices: when a device that was lost is not replaced any more.
  restart_options restart{};
  /// The program `flotilla-worker`, which runs isolated devices (settings, "isolation"). If empty,
  /// the environment variable FLOTILLA_WORKER, except in set-user-id programs. If that is not set
  /// either, the program is looked for next to flotilla's own library. The first runtime of the
  /// process with an isolated device chooses the program.
  std::string worker_path{};
};

/// Runs tasks on its devices. Make one runtime early and keep it: a context on a GPU costs about
/// 0.1 s and 0.5 GiB.
///
/// Threads   Any thread may call any function except the destructor at any time, even inside a
///           callable.
/// Blocking  A callable that blocks stalls only its own device. If no worker is left for the other
///           devices, the runtime starts threads of its own, which drive these devices until the
///           callable has returned. It does so after about 1 ms. In single-threaded mode, a
///           callable or continuation that blocks stalls all devices. A callable that takes longer
///           than 10 ms is reported (runtime_options::report_calls_longer_than).
/// Contexts  Every call leaves the caller's context stack unchanged.
/// Globals   The runtime resets no device, sets no environment variable, and does not use oneTBB's
///           `global_control`.
/// fork      In a child of fork() every function throws used_after_fork, and the destructor does
///           nothing. A child cannot construct a runtime if its parent has initialised the CUDA
///           driver: the constructor throws used_after_fork. If a callable or continuation forks
///           and then returns in the child, the child ends with a message and SIGABRT.
/// exit      Any thread may call std::exit, even inside a callable or continuation. If std::exit is
///           called inside a callable or continuation of a runtime and destroys this runtime, the
///           destructor abandons the open tasks and prints a message. If it is called on a worker,
///           the process ends before the destructors of oneTBB and of objects that are older than
///           flotilla's library. If a wait in another thread would throw while the process ends,
///           that thread first sleeps for up to 2 s, so that the process can end.
class FLOTILLA_EXPORT runtime {
 public:
  /// @throws no_device, unknown_device, unknown_setting, invalid_argument
  /// @throws driver_error  The driver refused a context or a setting. The constructor has released
  ///                       everything that it made.
  explicit runtime(runtime_options options = {});
  runtime(runtime const&) = delete;
  runtime& operator=(runtime const&) = delete;
  /// Closes the runtime, waits until every task has ended and every continuation has run, and frees
  /// all resources. The destructor never throws. If the driver is poisoned, it does not hang.
  /// No other thread may be waiting for a ticket during this call. Tickets may outlive the runtime.
  /// Inside a callable or continuation of this runtime, the destructor cannot wait: it prints a
  /// message, abandons the open tasks and frees nothing.
  ~runtime();

  /// Returns the devices in the order of their ordinals.
  [[nodiscard]] std::span<flotilla::device const> devices() const noexcept;
  /// Returns the actual settings of a device's context, as read back from the driver after the
  /// context was made.
  /// @throws unknown_device
  [[nodiscard]] device_settings effective_settings(device_ordinal device) const;
  /// Returns, for each setting of a device, the requested value, the outcome and the reason.
  /// @throws unknown_device
  [[nodiscard]] settings_report report_settings(device_ordinal device) const;
  /// Returns one line of text: the driver in use, and the reason why the other driver is not used.
  [[nodiscard]] std::string const& driver_text() const noexcept;

  /// Loads an image on every device. The call loads all kernels of the image. No kernel is loaded
  /// later, at its first launch.
  /// @throws bad_image     The image has no code for these devices, or the driver refuses the
  ///                       image.
  [[nodiscard]] program load(image const& code);
  /// Loads a file: a cubin, fatbin or PTX file for GPUs, or a CPU image for CPU devices.
  /// @throws bad_image     The file is missing, unreadable, or has another format. The message
  ///                       names the file.
  [[nodiscard]] program load(std::filesystem::path const& file);

  /// Submits a task. The call does not launch the task: the thread that drives the device launches
  /// the task later.
  ///
  /// @return The ticket of the task. The task runs even if the ticket is dropped.
  /// @throws invalid_argument  The grid is empty, the arguments do not match the kernel, or the
  ///                           callable is null; or the device of a launch cannot access the memory
  ///                           of a buffer on another device (see can_access_peer); or the runtime
  ///                           checks arguments, and the device cannot access the memory of a
  ///                           pointer argument.
  /// @throws unknown_device    `options.device` is not in `devices()`.
  /// @throws wrong_runtime     The kernel, a buffer or a task in `after` belongs to another
  ///                           runtime.
  /// @throws missing_dependency  The runtime checks the order of tasks, and this task has no order
  ///                           with an earlier task that uses the same memory.
  /// @throws runtime_closed, poisoned, used_after_fork
  /// @throws window_full       The window is full, and the caller is inside a callable, where it
  ///                           must not wait.
  ///         If the call throws, it has submitted nothing. Earlier tasks are not affected.
  ///
  /// Order   Tasks have no order except by `after`.
  /// Blocks  only while the device's window is full. Then the caller helps to drain the device.
  /// Cost    no driver call. The call allocates memory only for more than 128 bytes of arguments, a
  ///         callable of more than 64 bytes, or more than 4 tasks in `after`.
  ticket submit(launch const& what, task_options const& options = detail::default_options);
  ticket submit(memory_op const& what, task_options const& options = {});
  /// A worker, or a thread that waits or pumps, calls `what` and then destroys `what`. The device's
  /// context is current during both. The ticket reports the exception of `what`.
  ticket submit(callable what, task_options const& options = {});

  /// These functions do the same as `submit`, except if the window is full. In that case they
  /// submit nothing and return an empty optional at once.
  [[nodiscard]] std::optional<ticket> try_submit(launch const& what,
                                                 task_options const& options = {});
  [[nodiscard]] std::optional<ticket> try_submit(memory_op const& what,
                                                 task_options const& options = {});
  [[nodiscard]] std::optional<ticket> try_submit(callable&& what, task_options const& options = {});

  /// These functions do the same as `submit`, but without a ticket. If the task fails,
  /// `runtime_options::on_error` gets the error. `wait_idle` and the destructor wait for the task.
  void post(launch const& what, task_options const& options = detail::default_options);
  void post(memory_op const& what, task_options const& options = {});
  void post(callable what, task_options const& options = {});

  /// Makes one bounded pass over all devices that no other thread drives: it launches waiting tasks
  /// and retires ended tasks. In single-threaded mode, it then runs up to 64 continuations that are
  /// ready to run, or gives them to the executor, unless the caller is inside a callable or a
  /// continuation.
  /// @return True if there is a task that has not ended or a continuation that has not begun. The
  ///         result says nothing about tasks that are submitted after the call. An event loop must
  ///         not decide by the result whether to sleep: it polls `event_fd` (see event_fd.hpp).
  /// Blocks  never, but callables run inside the call, and in single-threaded mode continuations.
  bool pump();

  /// Waits until the runtime is idle: no task is open and no continuation is open, including those
  /// that callables, continuations and other threads submit during the call. A continuation that an
  /// executor has taken is open until it has run. The caller helps to run the tasks, and in
  /// single-threaded mode the continuations. The call throws no errors of tasks: the tickets report
  /// them. While there is nothing to do, the wait policies of the devices with open tasks determine
  /// how the caller waits (see wait_policy). If all of these policies are `blocking`, no task is
  /// left to launch, and no continuation is open, the caller sleeps until the driver reports the
  /// end of a task.
  ///
  /// The call need not return while other threads, callables or continuations keep submitting. It
  /// does not return if only the calling thread could run the jobs of the executor. To wait for
  /// certain tasks only, wait for their tickets or for `when_all(tickets)`.
  /// @throws would_deadlock  The caller is inside a callable or a continuation.
  void wait_idle();

  /// Writes the output of `printf` in kernels to the standard output of this process. The driver
  /// stores the output in a buffer of the context until the context is synchronized. Output that
  /// does not fit into this buffer (`limits.printf_fifo`) is lost. After the call, the output of
  /// all ended tasks has appeared. The output of other tasks may have appeared. The call performs
  /// one control operation on each device.
  /// @throws would_deadlock  The caller is inside a callable and would wait for the stream of this
  ///                         callable.
  /// @throws driver_error, poisoned  A device failed, and the output of its kernels is lost.
  /// @throws used_after_fork
  /// Threads  any, even inside a continuation.
  /// Blocks   for each device in turn, until all launched work of the device is done. The runtime
  ///          launches no new work on this device during that time, so a running kernel must not
  ///          wait for a task that is not launched yet.
  /// Cost     one cuCtxSynchronize for each device, which follows the device's wait policy.
  void flush_printf();

  /// Makes the runtime refuse new tasks. Submitted tasks still run. The call does not wait.
  void close() noexcept;

  /// Returns the free and total memory of a device in bytes, as reported by the driver. The call
  /// performs one control operation.
  [[nodiscard]] memory_info memory(device_ordinal device) const;

  /// Returns the counters of a device. The call also retires ended tasks, so that these tasks are
  /// counted. The call never blocks and runs no callable.
  [[nodiscard]] device_counters counters(device_ordinal device) const;
  /// Returns one entry for each worker that has run, in the order of the workers' first runs. The
  /// threads that the runtime starts because a callable blocks have no entries.
  [[nodiscard]] std::vector<flotilla::worker_counters> worker_counters() const;

 private:
  friend struct detail::access;
  explicit runtime(detail::runtime_impl& impl) noexcept : impl_{&impl} {}
  detail::runtime_impl* impl_;  // lives until the runtime and all tickets are gone
};

}  // namespace v0_1
}  // namespace flotilla
