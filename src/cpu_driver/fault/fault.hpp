// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sticky fault. After a kernel has trapped, calls in every context of the process return the
// same error, as with a GPU's driver. The fault is a single word, which nearly every entry point
// reads.

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace flotilla::cpu_driver::fault {

inline constexpr int max_devices = 64;

namespace detail {
inline std::atomic<CUresult> word{CUDA_SUCCESS};
// For tests: the devices whose faults concern no other device, one bit each, and their faults.
inline std::atomic<std::uint64_t> confined{0};
inline std::array<std::atomic<CUresult>, max_devices> word_of_device{};
}  // namespace detail

/// Returns the status of the first fault, or CUDA_SUCCESS if there was no fault. acquire: pairs
/// with the release in raise(), so a thread that sees a fault also sees everything that happened
/// before the fault.
[[nodiscard]] inline CUresult status() noexcept {
  return detail::word.load(std::memory_order_acquire);
}

/// Returns whether the faults of any device are confined to it.
[[nodiscard]] inline bool any_confined() noexcept {
  return detail::confined.load(std::memory_order_relaxed) != 0;
}
/// Returns the fault of the process, or else the fault that is confined to the device.
[[nodiscard]] inline CUresult status(int device) noexcept {
  if (CUresult const all = status()) { return all; }
  if (!any_confined()) { return CUDA_SUCCESS; }
  // acquire: as in status()
  return detail::word_of_device[static_cast<std::size_t>(device)].load(std::memory_order_acquire);
}

/// Poisons the driver and wakes every device. Each device then abandons its pending operations.
/// Does nothing if the driver is already poisoned.
void raise(CUresult status) noexcept;
/// The same, but if the faults of the device are confined, the fault concerns only this device.
void raise(CUresult status, int device) noexcept;

/// Removes the fault. For tests only. The caller must ensure that no context exists.
void reset() noexcept;

/// For tests only: confines the faults of a device to it, or ends that.
void confine(int device, bool on) noexcept;
/// For tests only: removes the fault that is confined to the device.
void reset(int device) noexcept;

}  // namespace flotilla::cpu_driver::fault
