// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Fault injection for tests of programs that use flotilla: slow and hanging kernels, blocks in
/// another order, slow copies, late and failing driver calls, kernel faults, lost completions,
/// memory limits, and worker processes that are killed. Except for `kill_worker`, it affects CPU
/// devices only.
/// docs/testing.md shows how programs use it.
///
/// The environment variable FLOTILLA_CPU_INJECT injects the same faults when the process starts, as
/// in FLOTILLA_CPU_INJECT="slow=1:5,fail=cuLaunchKernel@10:CUDA_ERROR_OUT_OF_MEMORY".

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/error/driver_status.hpp>

/// Any thread may call these functions at any time. An injection applies to all driver calls and
/// kernels of the process that begin after the injection. A function that throws has changed
/// nothing.
namespace flotilla {
inline namespace v0_1 {

class runtime;

namespace testing {

/// The number of a CPU device in the CPU driver. The device does not have to exist yet.
struct FLOTILLA_EXPORT cpu_device {
  explicit constexpr cpu_device(int ordinal) noexcept : driver_ordinal{ordinal} {}
  /// @throws invalid_argument  `device` is a GPU.
  cpu_device(device const& device);

  int driver_ordinal;  ///< from 0; see `device::driver_ordinal`
};

/// Makes one future call of `entry` return `status` without any other effect. `nth` selects the
/// call: 1 is the next call. Several failures can be pending at the same time, each with its own
/// counter.
/// @param entry  An entry point of the driver without a version suffix, such as "cuLaunchKernel".
/// @throws invalid_argument  The CPU driver has no such entry point, `nth` is 0, or `status` is not
///                           an error. The message names the argument.
FLOTILLA_EXPORT void fail_call(std::string_view entry, std::uint64_t nth, driver_status status);

/// Makes every call of `entry` take longer by `delay`. This replaces an earlier delay of `entry`.
/// @throws invalid_argument  The CPU driver has no such entry point, or `delay` is negative or
///                           longer than an hour. The message names the argument.
FLOTILLA_EXPORT void delay_calls(std::string_view entry, std::chrono::microseconds delay);

/// Makes kernels on `device` take `factor` times as long. This replaces an earlier factor of
/// `device`.
/// @throws invalid_argument  The CPU driver cannot have such a device, or `factor` is not between 1
///                           and 1000. The message names the argument.
FLOTILLA_EXPORT void slow_kernels(cpu_device device, double factor);

/// Makes `device` run the blocks of each grid from the last to the first, until `clear_faults`.
/// Usually a CPU device runs short blocks in their order, but CUDA promises no order. With this, a
/// test finds kernels that are right only by chance. It can also find tasks that lack a predecessor
/// in `after`, because small tasks of one kernel share grids. A kernel whose blocks wait for
/// earlier blocks hangs.
/// @throws invalid_argument  The CPU driver cannot have such a device.
FLOTILLA_EXPORT void reverse_blocks(cpu_device device);

/// Makes one future kernel on `device` fault with `status`. `nth` selects the kernel: 1 is the next
/// kernel. The fault poisons the driver of this process. Several faults can be pending at the same
/// time, each with its own counter.
/// @throws invalid_argument  The CPU driver cannot have such a device, `nth` is 0, or `status` is
///                           not an error. The message names the argument.
FLOTILLA_EXPORT void fault_kernel(cpu_device device, std::uint64_t nth, driver_status status);

/// Makes one future kernel on `device` hang: it does not begin until `release_kernels` or
/// `clear_faults` is called. `nth` selects the kernel: 1 is the next kernel. While a kernel hangs,
/// the device executes nothing else, and the destructor of its runtime waits. Several hangs can be
/// pending at the same time, each with its own counter.
/// @throws invalid_argument  The CPU driver cannot have such a device, or `nth` is 0. The message
///                           names the argument.
FLOTILLA_EXPORT void hang_kernel(cpu_device device, std::uint64_t nth);
/// The same, but the kernel hangs at most for `time`.
/// @throws invalid_argument  Also if `time` is negative or longer than an hour.
FLOTILLA_EXPORT void hang_kernel(cpu_device device, std::uint64_t nth,
                                 std::chrono::microseconds time);
/// Lets a kernel that hangs on `device` go on. Does not affect pending hangs.
/// @throws invalid_argument  The CPU driver cannot have such a device.
FLOTILLA_EXPORT void release_kernels(cpu_device device);

/// Loses one future completion on `device`: the work of a batch ends, but the device does not
/// report this. `nth` selects the completion: 1 is the next one. The tasks of the batch end when
/// the next batch in the same stream ends, or, with `runtime_options::stuck_after`, when the
/// runtime finds that the stream is empty; otherwise they stay open. A callable whose completion is
/// lost stays open in any case. The worker process of an isolated device is replaced instead.
/// Several losses can be pending at the same time, each with its own counter.
/// @throws invalid_argument  The CPU driver cannot have such a device, or `nth` is 0. The message
///                           names the argument.
FLOTILLA_EXPORT void lose_completion(cpu_device device, std::uint64_t nth);

/// Kills the worker process of an isolated device with SIGKILL, as `kill -9` does. Works for GPUs
/// as well. Does nothing if the process has ended already.
/// @throws invalid_argument  The device is not isolated (settings::isolation).
/// @throws unknown_device
FLOTILLA_EXPORT void kill_worker(runtime const& rt, device_ordinal device);

/// Makes each copy that `device` executes take at least as long as at `bytes_per_second`, as over a
/// slow link. This replaces an earlier rate of `device`. Copies by kernels of the runtime are not
/// affected (see task_options::batch).
/// @throws invalid_argument  The CPU driver cannot have such a device, or the rate is 0. The
///                           message names the argument.
FLOTILLA_EXPORT void slow_copies(cpu_device device, std::size_t bytes_per_second);

/// A mix of faults, for `inject_random`.
struct random_faults {
  int devices = 1;                  ///< the devices with the driver ordinals 0 to devices - 1
  unsigned failing_calls = 8;       ///< calls that fail: launches, copies, events, allocations
  std::uint64_t among_calls = 500;  ///< the greatest `nth` of a failing call; at least 1
  unsigned late_calls = 2;          ///< entry points whose calls take up to 0.2 ms longer
  bool slow_devices = true;         ///< kernels of some devices take up to 4 times as long
  unsigned hangs = 1;               ///< kernels that hang for up to 20 ms
  bool fault = false;               ///< a kernel on one device faults
};
/// Injects a mix of faults that depends only on the arguments, so a failed test can be repeated
/// with its seed.
/// @return The faults in the form of FLOTILLA_CPU_INJECT, for a log.
/// @throws invalid_argument  `devices` or `among_calls` is less than 1, or the CPU driver cannot
///                           have so many devices. Nothing was injected.
FLOTILLA_EXPORT std::string inject_random(std::uint64_t seed, random_faults const& mix = {});

/// Limits the memory of `device` to `bytes`. This replaces an earlier limit of `device`.
/// @throws invalid_argument  The CPU driver cannot have such a device. The message names the
///                           argument.
FLOTILLA_EXPORT void limit_memory(cpu_device device, std::size_t bytes);

/// Makes the driver answer that kernels on `from` cannot access the memory of `to`, as for two GPUs
/// that are not peers. Access in the other direction is not affected. Existing runtimes do not
/// notice, so call this function before the runtime is constructed.
/// @throws invalid_argument  The CPU driver cannot have such a device, or both devices are the
///                           same. The message names the argument.
FLOTILLA_EXPORT void separate_peers(cpu_device from, cpu_device to);

/// Removes all injections, including those from FLOTILLA_CPU_INJECT. A poisoned driver stays
/// poisoned.
FLOTILLA_EXPORT void clear_faults();

}  // namespace testing
}  // namespace v0_1
}  // namespace flotilla
