#pragma once
// Trouble on request: slow devices, delayed or failing calls, faults, little memory. From
// FLOTILLA_CPU_INJECT at cuInit, and from tests through control.hpp. A comma-separated list of
//
//   slow=DEVICE:FACTOR            kernels of that device take FACTOR times as long
//   delay=ENTRY:MICROSECONDS      every call of that entry takes so much longer
//   fail=ENTRY@N:STATUS           the N-th call from now answers STATUS and does nothing else
//   fault=DEVICE@N:STATUS         the N-th kernel run on that device from now faults, stickily
//   capacity=DEVICE:BYTES         that device has so much memory (KiB, MiB, GiB)
//
// ENTRY is a name such as cuLaunchKernel, without version suffix. STATUS is a name or a number.

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace flotilla::cpu_driver::injection {

namespace detail {
inline std::atomic<bool> armed{false};
}

/// Whether anything is injected at all: what calls and kernels ask first.
/// acquire: pairs with the release in apply()
[[nodiscard]] inline bool armed() noexcept { return detail::armed.load(std::memory_order_acquire); }

/// Adds what `spec` says, all of it or nothing. False: `error` names the offending part.
[[nodiscard]] bool apply(std::string_view spec, std::string& error);
/// Takes everything back, capacities included.
void clear();

/// For an entry of the API, before it acts. Anything but CUDA_SUCCESS is to be answered instead.
[[nodiscard]] CUresult before(char const* entry) noexcept;
/// For each kernel, before it runs: CUDA_SUCCESS, or the fault it is to end with.
[[nodiscard]] CUresult next_kernel(int device) noexcept;
/// How many times as long kernels of the device take.
[[nodiscard]] double slowness(int device) noexcept;
/// The device's memory in bytes, where injected.
[[nodiscard]] std::optional<std::size_t> capacity(int device);

}  // namespace flotilla::cpu_driver::injection
