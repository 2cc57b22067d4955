#pragma once
/// The runtime: one floating context for each device, and the threads that drive them.

#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
#include <flotilla/settings/settings.hpp>
#include <flotilla/settings/settings_report.hpp>
#include <flotilla/task/callable.hpp>
#include <flotilla/task/completion.hpp>
#include <flotilla/task/dependency_list.hpp>
#include <flotilla/task/placement.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

/// How a task runs.
struct task_options {
  /// Where it runs. Empty: on the device of its arguments, else as `runtime_options::placement`
  /// says.
  std::optional<device_ordinal> device{};
  /// For messages; copied.
  std::string_view label{};
  /// Predecessors: tasks of this runtime, on any device. The device keeps the order: launches and
  /// copies begin after these tasks have ended. A callable itself may run earlier, but its stream
  /// waits for them.
  dependency_list after{};
  /// False: the task is launched by itself and never shares a batch with others.
  bool batch = true;
  /// The priority of a CUDA stream (cuStreamCreateWithPriority): a lower number is more urgent, and
  /// 0, the default, is the least urgent. A number outside of the device's range is clipped to it
  /// (H200: 0 to -5). Tasks that wait on a device begin in this order, copies and callables too,
  /// and blocks of urgent kernels begin before blocks of less urgent ones. A running block is never
  /// stopped. The window does not know priorities. Tasks in `after` keep their own priority.
  int priority = 0;
};

struct runtime_options {
  static constexpr int automatic = -1;

  /// The devices; only these get a context. "auto": the GPUs, or CPU devices if there is no GPU.
  /// "cuda", "cuda:0,2", "cpu", "cpu:4" (four of them), or a UUID or PCI id as `flotilla devices`
  /// prints them. Several are separated by commas. "/green:16*8" after any but "auto" makes eight
  /// green contexts of 16 multiprocessors each, and every one is a device. Empty: the environment's
  /// FLOTILLA_DEVICES, else "auto".
  std::string devices{};
  /// The largest number of oneTBB threads that drive devices at once. 0 is single-threaded mode:
  /// tasks progress only inside `pump()` and waits. Automatic: the number of devices, but at most
  /// cores - 1 and at least 1.
  int workers = automatic;
  /// The largest number of open tasks of one device, between 64 and 65000. Empty: as the settings
  /// say, else 16384.
  std::optional<std::size_t> window{};
  /// How long a worker looks for more work before it leaves. It spins or yields, as the devices'
  /// wait policies say. If all of them are `blocking`, it leaves at once.
  std::chrono::microseconds linger{50};
  /// Settings that override those of the environment (see settings.hpp).
  flotilla::settings settings{};
  /// False: if the driver refuses a setting, the runtime is not made. True: the refused setting
  /// keeps the driver's default and is reported. A refused context source is always an error.
  bool best_effort = false;
  /// Chooses the device of tasks that name none. Null: any_device.
  std::shared_ptr<flotilla::placement> placement{};
  /// Gets the error of each posted task that failed, as `ticket::wait` would throw it; on a
  /// poisoned runtime one error for all that were open. It runs as a continuation does (see
  /// ticket::then), possibly on several threads at once. Empty: the errors are printed on stderr.
  std::function<void(std::exception_ptr)> on_error{};
};

/// Runs tasks on its devices. Make one early and keep it: on a GPU a context costs about 0.1 s and
/// 0.5 GiB.
///
/// Threads   any thread may call any function at any time, also inside a callable, except the
///           destructor.
/// Contexts  every call leaves the caller's context stack as it found it. The runtime resets no
///           device, and sets no `global_control` and no environment variable.
/// fork      in a child of fork() every function throws used_after_fork, and the destructor does
///           nothing. The child cannot construct a runtime if its parent had one, or had asked for
///           devices: the constructor throws used_after_fork. A callable or continuation that forks
///           must not return in the child: that ends the child with a message and SIGABRT.
/// exit      any thread may call std::exit, also in a callable or continuation. A static runtime is
///           then destroyed as usual, but not if the caller is inside one of its callables or
///           continuations: its tasks are abandoned, and a message says so. Threads that wait for
///           tasks when the CUDA driver shuts down do not return before the process has ended,
///           unless that takes more than 2 s.
class FLOTILLA_EXPORT runtime {
 public:
  /// @throws no_device, unknown_device, unknown_setting, invalid_argument
  /// @throws driver_error  A context could not be made as asked. Nothing is left behind.
  explicit runtime(runtime_options options = {});
  runtime(runtime const&) = delete;
  runtime& operator=(runtime const&) = delete;
  /// Closes the runtime, waits until every task has ended and every continuation has run, and frees
  /// everything. Inside a callable or continuation of this runtime it can only print a message and
  /// abandon the open tasks. Waits for tickets in other threads must have returned. Tickets may
  /// live on. It never throws, and never hangs on a poisoned driver.
  ~runtime();

  /// The devices, by ordinal.
  [[nodiscard]] std::span<flotilla::device const> devices() const noexcept;
  /// The settings that the driver granted for a device's context, read back after the context was
  /// made.
  /// @throws unknown_device
  [[nodiscard]] device_settings effective_settings(device_ordinal device) const;
  /// The settings that were requested for a device (by code, else the environment, else the
  /// settings file), what became of each, and why.
  /// @throws unknown_device
  [[nodiscard]] settings_report report_settings(device_ordinal device) const;
  /// One line: the driver in use, and why the other driver is not used.
  [[nodiscard]] std::string const& driver_text() const noexcept;

  /// Loads an image on every device, with all of its kernels: none is loaded lazily later.
  /// @throws bad_image     It holds no code for these devices, or the driver refuses it.
  [[nodiscard]] program load(image const& code);
  /// Loads a cubin, fatbin or PTX file; on CPU devices a CPU image.
  /// @throws bad_image     The file is missing, unreadable or of another kind; the message names
  ///                       it.
  [[nodiscard]] program load(std::filesystem::path const& file);

  /// Submits a task. It does not launch the task: the thread that drives the device does.
  ///
  /// @return Its ticket. The task runs even if the ticket is dropped.
  /// @throws invalid_argument  An empty grid, arguments that do not fit the kernel, or a null
  ///                           callable.
  /// @throws unknown_device    `options.device` is not among `devices()`.
  /// @throws wrong_runtime     The kernel, a buffer or a task in `after` belongs to another
  ///                           runtime.
  /// @throws runtime_closed, poisoned, used_after_fork
  /// @throws window_full       The window is full, and the caller is inside a callable, where it
  ///                           must not wait.
  ///         If it throws, nothing was queued, and tasks that were submitted before still end.
  ///
  /// Order   none between two tasks, except by `after`.
  /// Blocks  only while the device's window is full; then the caller helps to drain it.
  /// Cost    no driver call. It allocates only for more than 128 bytes of arguments, callables of
  ///         more than 64 bytes, and more than 4 tasks in `after`.
  ticket submit(launch const& what, task_options const& options = {});
  ticket submit(memory_op const& what, task_options const& options = {});
  /// `what` runs once, with the device's context current, on a worker or on a thread that waits. It
  /// is destroyed there, too. Its exception goes to the ticket.
  ticket submit(callable what, task_options const& options = {});

  /// The same, but if the window is full it submits nothing and returns at once.
  [[nodiscard]] std::optional<ticket> try_submit(launch const& what,
                                                 task_options const& options = {});
  [[nodiscard]] std::optional<ticket> try_submit(memory_op const& what,
                                                 task_options const& options = {});
  [[nodiscard]] std::optional<ticket> try_submit(callable&& what, task_options const& options = {});

  /// Submits a task without a ticket. If it fails, `runtime_options::on_error` gets the error.
  /// Otherwise as `submit`. `wait_idle` and the destructor wait for it.
  void post(launch const& what, task_options const& options = {});
  void post(memory_op const& what, task_options const& options = {});
  void post(callable what, task_options const& options = {});

  /// One bounded pass over all devices that no other thread drives. It launches waiting tasks and
  /// retires ended ones. Then it runs up to 64 continuations that are due, unless it is called
  /// inside a callable or a continuation.
  /// @return whether tasks have not ended or continuations have not begun.
  /// Blocks  never, but callables and continuations run inside it.
  bool pump();

  /// Waits until every task that was submitted before has ended, and helps to run them. Then it
  /// runs the continuations that are due. Errors stay with their tickets. While nothing can be
  /// done, it waits as the devices with open tasks are set (see wait_policy). If all of them are
  /// `blocking`, nothing is left to launch and no continuation is open, it sleeps until the driver
  /// reports the end of a task. The destructor waits in the same way.
  /// @throws would_deadlock  The caller is inside a callable.
  void wait_idle();

  /// Makes the output of `printf` in kernels appear on this process's standard output. A driver
  /// keeps it in a buffer of the context until the context is synchronized. If that buffer
  /// (`limits.printf_fifo`) is full, text is lost. When this returns, the output of all tasks that
  /// have ended has appeared; that of other tasks may have. A control operation.
  /// @throws would_deadlock  The caller is inside a callable, and would wait for its own stream.
  /// @throws driver_error, poisoned  A device failed; its output is lost.
  /// @throws used_after_fork
  /// Threads  any, also inside a continuation.
  /// Blocks   for each device in turn until all work launched there is done. Nothing new is
  ///          launched there meanwhile, so a kernel in flight must not wait for a task that is not
  ///          launched yet.
  /// Cost     one cuCtxSynchronize for each device, which waits as the device's wait policy says.
  void flush_printf();

  /// Refuses new tasks from now on. Submitted tasks still run. Does not wait.
  void close() noexcept;

  /// Free and total memory of a device in bytes, as its driver reports it. A control operation.
  [[nodiscard]] memory_info memory(device_ordinal device) const;

  /// Cost: some loads, and the work to retire tasks that have ended. Never blocks, and runs no
  /// callable.
  [[nodiscard]] device_counters counters(device_ordinal device) const;
  /// One entry for each worker that has run, in order of their first run.
  [[nodiscard]] std::vector<flotilla::worker_counters> worker_counters() const;

 private:
  friend struct detail::access;
  explicit runtime(detail::runtime_impl& impl) noexcept : impl_{&impl} {}
  detail::runtime_impl* impl_;  // exists as long as the runtime or a ticket
};

}  // namespace v0_1
}  // namespace flotilla
