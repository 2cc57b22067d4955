#pragma once
/// The runtime: one floating context per device, and the threads that drive them.

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/buffer.hpp>
#include <flotilla/completion.hpp>
#include <flotilla/counters.hpp>
#include <flotilla/device.hpp>
#include <flotilla/error.hpp>
#include <flotilla/export.hpp>
#include <flotilla/image.hpp>
#include <flotilla/kernel.hpp>
#include <flotilla/launch.hpp>
#include <flotilla/placement.hpp>
#include <flotilla/program.hpp>
#include <flotilla/settings.hpp>
#include <flotilla/settings_report.hpp>
#include <flotilla/ticket.hpp>
#include <flotilla/transfer.hpp>
#include <flotilla/work.hpp>

namespace flotilla {

/// How a task is to run.
struct task_options {
  std::optional<device_ordinal> device{};  ///< where; empty: as the arguments or the placement say
  std::string_view label{};                ///< for messages; copied
  /// Tasks of this runtime, of any device, to run after. Order is kept on the device: launches and copies begin when
  /// these are done (a launch may wait for another GPU in a thread of its own). A callable's body begins when they are
  /// on their streams; what it enqueues on `task_context::stream()` runs behind them, what it does on the host may not.
  dependency_list after{};
  bool batch = true;  ///< false: a start of its own, never folded into a batch with others
  /// As CUDA counts a stream's priority (cuStreamCreateWithPriority): lower is more urgent, 0 is the least and the
  /// default; what is outside of what the device has is taken as its nearest (an H200: 0 to -5). What has come to a
  /// device and not begun begins in this order, copies and callables too; blocks of launches, and what a callable
  /// puts on its stream, go before blocks of less urgent ones that have not begun either. Nothing that runs is
  /// stopped. A window that is full is full for all; tasks in `after` keep the priority that they have.
  int priority = 0;
};

struct runtime_options {
  static constexpr int automatic = -1;

  /// "auto" (GPUs where there are any, else CPU devices), "cuda", "cuda:0,2", "cpu", "cpu:4" (four of
  /// them), a UUID or a PCI id as `flotilla devices` prints them; several with commas between. Behind any but "auto",
  /// "/green:16*8" makes eight green contexts of it, of 16 multiprocessors each, every one a device. Empty:
  /// the environment's FLOTILLA_DEVICES, else "auto". Only these get a context.
  std::string devices{};
  /// Workers, a count: the most oneTBB threads that drive devices at once. 0: single-threaded mode:
  /// nothing moves but by `pump()` and waits. Automatic: as many as devices, at most cores - 1, at least 1.
  int workers = automatic;
  /// Tasks submitted to one device and not ended, a count in [64, 65000]. Empty: as settings say, else 16384.
  std::optional<std::size_t> window{};
  /// How long a worker looks for more work before it leaves: spinning or yielding, as the devices' schedules say.
  /// Where all of them block it leaves at once, whatever this is.
  std::chrono::microseconds linger{50};
  /// Over what the environment says (see settings.hpp).
  flotilla::settings settings{};
  /// What a driver refuses is an error, and there is no runtime. True: it is left at the driver's default and reported,
  /// except for the source of a context: a device without it is none.
  bool best_effort = false;
  /// Which device gets a task that names none; null: any_device.
  std::shared_ptr<flotilla::placement> placement{};
};

/// Runs tasks on every device it was given. Make one, early, and keep it: a context costs about 0.1 s
/// and 0.5 GiB on a GPU.
///
/// Threads   every function may be called from any thread at any time, also inside a callable, but for
///           the destructor.
/// Guest     the caller's context stack is left as found by every call; no device is reset; no
///           `global_control` and no environment variable is set.
/// fork      in a child of fork() every function throws used_after_fork, and the destructor does nothing.
class FLOTILLA_EXPORT runtime {
 public:
  /// @throws no_device, unknown_device, unknown_setting, invalid_argument
  /// @throws driver_error  A context could not be made as asked. Nothing is left behind.
  explicit runtime(runtime_options options = {});
  runtime(runtime const&) = delete;
  runtime& operator=(runtime const&) = delete;
  /// Closes, waits until every task has ended and every continuation has run, frees all. Not to be called inside one. Never throws, and never hangs on a poisoned driver.
  /// Waits of tickets in other threads must have returned; tickets themselves may live on.
  ~runtime();

  /// The devices, by ordinal.
  [[nodiscard]] std::span<flotilla::device const> devices() const noexcept;
  /// @throws unknown_device
  [[nodiscard]] flotilla::device const& device(device_ordinal ordinal) const;
  /// What was asked of a device: by code, else the environment, else the settings file.
  [[nodiscard]] device_settings requested_settings(device_ordinal device) const;
  /// What the driver granted for a device's context, read back after it was made.
  [[nodiscard]] device_settings effective_settings(device_ordinal device) const;
  /// Both, with what became of each request: granted, rounded, without effect, refused; and why.
  [[nodiscard]] settings_report report_settings(device_ordinal device) const;
  /// Which driver serves and why not the other, a line.
  [[nodiscard]] std::string const& driver_text() const noexcept;

  /// Loads an image on every device, completely: no kernel is loaded lazily later.
  /// @throws bad_image     It holds no code for these devices, or the driver refuses it.
  [[nodiscard]] program load(image const& code);
  /// Loads a cubin, fatbin or PTX file, or on CPU devices a CPU image.
  /// @throws bad_image     The file is missing, unreadable, or no such file; the message names it.
  [[nodiscard]] program load(std::filesystem::path const& file);

  /// Submits a task. Never launches it: whoever has the lease of the device does.
  ///
  /// @return Its ticket; dropping it drops no task.
  /// @throws invalid_argument  Zero grid, arguments that do not fit the kernel, a null callable.
  /// @throws unknown_device    `options.device` is none of `devices()`.
  /// @throws wrong_runtime     The kernel, a buffer or a ticket in `after` belongs to another runtime.
  /// @throws runtime_closed, poisoned, used_after_fork
  /// @throws queue_full        The window is full and the caller is inside a callable, where it may not wait.
  ///         Whatever is thrown, nothing was queued, and tasks submitted before still end.
  ///
  /// Order   two tasks have none, but by `after`.
  /// Blocks  only while the window of the device is full; then the caller helps to drain it.
  /// Cost    no driver call, and no allocation while arguments fit 128 bytes and callables 64.
  ticket submit(launch const& what, task_options const& options = {});
  ticket submit(transfer const& what, task_options const& options = {});
  /// `what` runs once, on some thread, with the device's context current: a worker, or a thread that
  /// waits. What it throws goes to the ticket. It is destroyed there as well, the context current.
  ticket submit(work what, task_options const& options = {});

  /// The same, but for a full window: then nothing, at once.
  [[nodiscard]] std::optional<ticket> try_submit(launch const& what, task_options const& options = {});
  [[nodiscard]] std::optional<ticket> try_submit(transfer const& what, task_options const& options = {});
  [[nodiscard]] std::optional<ticket> try_submit(work&& what, task_options const& options = {});

  /// One bounded pass over all devices whose lease is free: launches what waits, ends what is done.
  /// Then up to 64 continuations (ticket::then) that are due, unless called inside a callable or a continuation.
  /// @return whether tasks are left that have not ended, or continuations that have not begun.
  /// Blocks  never; callables and continuations run inside it.
  bool pump();

  /// Waits until every task submitted before has ended, helping; then runs the continuations that are due.
  /// Errors stay with their tickets. In between it waits as the devices that have work are set (see `schedule`); where all
  /// of them block, nothing is left to launch and no continuation is open, it sleeps until the driver says that a task
  /// has ended. The destructor waits in the same way.
  /// @throws would_deadlock  inside a callable.
  void wait_idle();

  /// Has what kernels printed (`printf` in device code) appear on this process's standard output: a driver keeps it in
  /// a buffer of the context until it is waited for (`limits.printf_fifo`: when that is full, text is lost). Of every
  /// task that has ended, on any device, it has appeared when this returns; of others it may have. A control operation.
  /// @throws would_deadlock  inside a callable, whose own stream would be waited for.
  /// @throws driver_error, poisoned  A device failed; what it printed is lost.
  /// @throws used_after_fork
  /// Threads  any, also inside a continuation.
  /// Blocks   for each device in turn until all that has been launched there is done, with its lease: nothing new is
  ///          launched there meanwhile, so a kernel in flight must not wait for a task to come.
  /// Cost     a cuCtxSynchronize a device, which waits as the device's schedule says.
  void flush_printf();

  /// Refuses new tasks from now on; those submitted still run and end. Does not wait.
  void close() noexcept;

  /// Free and total memory of a device in bytes, as its driver says. A control operation.
  struct memory_info {
    std::size_t free_bytes, total_bytes;
  };
  [[nodiscard]] memory_info memory(device_ordinal device) const;

  /// Cost: some loads; with ended tasks to collect, what ending those costs. Blocks on nothing, runs no callable.
  [[nodiscard]] device_counters counters(device_ordinal device) const;
  /// One entry for each worker that ever ran, in order of their first run.
  [[nodiscard]] std::vector<worker_counters> workers() const;

  /// For those who extend flotilla.
  [[nodiscard]] dispatch::core& core() const noexcept { return *core_; }

 private:
  dispatch::core* core_;  // lives on while tickets do
};

}  // namespace flotilla
