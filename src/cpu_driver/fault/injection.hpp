// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fault injection: slow devices, delayed or failing calls, faults, little memory, devices that are
// not peers, properties that only other devices have. cuInit reads rules from the environment
// variable FLOTILLA_CPU_INJECT. Tests add rules through control.hpp. Commas separate the rules:
//
//   slow=DEVICE:FACTOR            kernels on the device take FACTOR times as long
//   delay=ENTRY:MICROSECONDS      every call of the entry point takes MICROSECONDS longer
//   fail=ENTRY@N:STATUS           the N-th call from now returns STATUS and does nothing else
//   fault=DEVICE@N:STATUS         the N-th kernel from now on the device faults with STATUS
//   hang=DEVICE@N:MICROSECONDS    the N-th kernel from now on the device takes so much longer;
//                                 without :MICROSECONDS, until its device is released
//   lose=DEVICE@N                 the N-th value from now that a stream of the device writes to
//                                 memory (cuStreamWriteValue, and nodes of graphs) is not written
//   release=DEVICE                the kernel that hangs on the device goes on
//   copies=DEVICE:BYTES_PER_SECOND  copies by the device take at least as long as at this rate
//   capacity=DEVICE:BYTES         the device has BYTES of memory (suffixes: KiB, MiB, GiB)
//   no_peer=FROM:TO               device FROM cannot access the memory of device TO
//   mode=DEVICE:MODE              the compute mode: default, prohibited or exclusive
//   priorities=DEVICE:none        the streams of the device have no priorities
//   blocks=DEVICE:reversed        the device runs the blocks of a grid from the last to the first
//
// ENTRY is a name such as cuLaunchKernel, without a version suffix. STATUS is a name or a number.

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace flotilla::cpu_driver::injection {

namespace detail {
inline std::atomic<bool> armed{false};
}

/// Whether rules were added since the last clear(). Entry points and kernel launches check armed()
/// before they look up any rule. acquire: pairs with the release in apply().
[[nodiscard]] inline bool armed() noexcept { return detail::armed.load(std::memory_order_acquire); }

/// Adds the rules in `spec`. If a rule is invalid, adds none of them, sets `error` to a text that
/// names the rule, and returns false. After a success, the caller must set the memory size of each
/// device to capacity(), as driver_state::inject() does.
[[nodiscard]] bool apply(std::string_view spec, std::string& error);
/// Removes every rule. Afterwards the caller must reset the memory size of each device, as
/// driver_state::clear_injection() does.
void clear();

/// Applies the rules for a call of `entry`: sleeps for the delay, and returns the injected error or
/// CUDA_SUCCESS. If before() returns an error, the entry point must return this error and do
/// nothing else.
[[nodiscard]] CUresult before(char const* entry) noexcept;
/// Returns how often an entry point was called since a rule `delay` for it was added.
[[nodiscard]] std::size_t delayed_calls(char const* entry);
/// Applies the rules for the next kernel on a device. Returns CUDA_SUCCESS, or the fault with which
/// the kernel must end.
[[nodiscard]] CUresult next_kernel(int device) noexcept;
/// Blocks while the next kernel on a device must hang. clear() and a fault end the block.
void hang_kernel(int device) noexcept;
/// Counts a value that a stream of the device writes. Returns whether it must not be written.
[[nodiscard]] bool loses_value(int device) noexcept;
/// Returns the time that a copy must take at least.
[[nodiscard]] std::chrono::nanoseconds time_of_copy(int device, std::size_t bytes) noexcept;
/// Returns the factor by which kernels on the device take longer. Without a rule, this is 1.
[[nodiscard]] double slowness(int device) noexcept;
/// Returns the device's memory in bytes, or nothing if no rule sets it.
[[nodiscard]] std::optional<std::size_t> capacity(int device);
/// Whether a rule makes `from` unable to access the memory of `to`.
[[nodiscard]] bool are_separated(int from, int to) noexcept;
/// Returns the device's compute mode. Without a rule, this is CU_COMPUTEMODE_DEFAULT.
[[nodiscard]] CUcomputemode compute_mode(int device) noexcept;
/// Returns whether the streams of the device have priorities. Without a rule, they have.
[[nodiscard]] bool has_priorities(int device) noexcept;
/// Returns whether the device runs the blocks of a grid from the last to the first.
[[nodiscard]] bool reverses_blocks(int device) noexcept;

}  // namespace flotilla::cpu_driver::injection
