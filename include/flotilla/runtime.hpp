// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The runtime: it has one floating context for each device, and threads that drive the devices.

#include <concepts>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <flotilla/detail/call_form.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/detail/work.hpp>
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
#include <flotilla/runtime_options.hpp>
#include <flotilla/settings/settings_report.hpp>
#include <flotilla/task/callable.hpp>
#include <flotilla/task/dependency_list.hpp>
#include <flotilla/task/host_task.hpp>
#include <flotilla/task/task_options.hpp>
#include <flotilla/task/ticket.hpp>
#include <flotilla/task/wait_any.hpp>

namespace flotilla {
inline namespace v0_1 {

/// Runs tasks on its devices. Make one runtime early and keep it: a context on a GPU costs about
/// 0.1 s and 0.5 GiB.
///
/// Threads   Any thread may call any function except the destructor at any time, even inside a
///           callable.
/// Blocking  A callable that blocks stalls only its own device. If callables, or the application's
///           own work in oneTBB, leave no worker, the runtime starts a thread of its own after 1 to
///           4 ms, which drives the devices that have work. In single-threaded mode, a callable or
///           continuation that blocks stalls all devices. A callable that takes longer than 10 ms
///           is reported (runtime_options::report_calls_longer_than).
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
///           flotilla's library. If a call in another thread would throw because the process ends,
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
  /// the task later. Work is a launch, a copy or fill, a callable, a host_task, an event, or a bulk
  /// of launches, copies or fills (<flotilla/task/bulk.hpp>).
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
  ticket submit(launch const& what, task_options const& options = {}) {
    return detail::in_short_form(
        options, [&](auto const&... how) { return detail::submit_launch(*impl_, what, how...); });
  }
  /// @param what     A copy or fill (memory_op); a callable, which can be any function of type
  ///                 void(task_context&); a host_task; an event; or a bulk (bulk.hpp). Callables
  ///                 and host tasks in variables need std::move. A flow takes launches with data.
  /// @param options  A task_options, or a host_options for a host_task.
  ///
  /// Callables  A worker, or a thread that waits or pumps, calls `what` and then destroys it. The
  ///            device's context is current during both. The ticket reports its exception.
  /// Events     The task ends when a CUDA event of the application has completed. Put its ticket
  ///            into the `after` of the tasks that need the work before the event:
  ///
  ///                cudaEventRecord(event, stream);
  ///                rt.submit(kernel.over(n)(x, n), {.after = {rt.submit(event)}});
  ///
  ///            `what` is a CUevent or cudaEvent_t of any context and device; null throws
  ///            invalid_argument. It must have been recorded before the call: CUDA treats an event
  ///            that was never recorded as completed. Until the task has ended, it must not be
  ///            recorded again or destroyed. The thread that drives `options.device`, or device 0,
  ///            asks the driver in each pass whether the event has completed. So the wait uses no
  ///            stream and blocks no other task; in single-threaded mode, this happens in pump and
  ///            in waits. A worker polls meanwhile, and follows the device's wait policy. If the
  ///            driver reports an error of the event, the task fails with driver_error. The task
  ///            can be cancelled until the event has completed.
  template <detail::work W>
  requires(!std::convertible_to<W, launch const&>) ticket
      submit(W&& what, detail::options_of<W> const& options = detail::default_options_of<W>()) {
    ticket made;
    detail::submit_work(*impl_, std::forward<W>(what), options, detail::if_full::wait, &made);
    return made;
  }
  template <detail::not_work W>
  ticket submit(W&&, task_options const& = {}) = delete;  // not work: see `what`; data need a flow

  /// Does the same as `submit`, except if the window is full. In that case it submits nothing and
  /// returns an empty optional at once. A `callable` or host_task then stays unchanged; a function
  /// of another type may have been moved from. Not for a bulk, which may have more items than the
  /// window has places.
  template <detail::work W>
  [[nodiscard]] std::optional<ticket> try_submit(
      W&& what, detail::options_of<W> const& options = detail::default_options_of<W>()) {
    static_assert(!detail::is_bulk<std::remove_cvref_t<W>>,
                  "a bulk may have more items than the window has places: call submit, or "
                  "try_submit for each item");
    std::optional<ticket> made{std::in_place};
    if (!detail::submit_work(*impl_, std::forward<W>(what), options, detail::if_full::refuse,
                             &*made)) {
      made.reset();
    }
    return made;
  }
  template <detail::not_work W>
  std::optional<ticket> try_submit(W&&, task_options const& = {}) = delete;  // see submit

  /// Does the same as `submit`, but without a ticket. If the task fails,
  /// `runtime_options::on_error` gets the error. `wait_idle` and the destructor wait for the task.
  void post(launch const& what, task_options const& options = {}) {
    detail::in_short_form(options,
                          [&](auto const&... how) { detail::post_launch(*impl_, what, how...); });
  }
  template <detail::work W>
  requires(!std::convertible_to<W, launch const&>) void post(
      W&& what, detail::options_of<W> const& options = detail::default_options_of<W>()) {
    detail::submit_work(*impl_, std::forward<W>(what), options, detail::if_full::wait, nullptr);
  }
  template <detail::not_work W>
  void post(W&&, task_options const& = {}) = delete;  // not work: see submit; data need a flow

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
  /// certain tasks only, wait for their tickets, or for that of a host task behind them.
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
  /// counted, unless another thread drives the device just now. After wait_idle, all tasks are
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
