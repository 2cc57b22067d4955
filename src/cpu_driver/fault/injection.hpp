#pragma once
// Fault injection: slow devices, delayed or failing calls, faults, little memory. The rules come
// from FLOTILLA_CPU_INJECT at cuInit, and from tests through control.hpp, as a comma-separated list
// of
//
//   slow=DEVICE:FACTOR            kernels of that device take FACTOR times as long
//   delay=ENTRY:MICROSECONDS      every call of that entry takes that much longer
//   fail=ENTRY@N:STATUS           the N-th call from now answers STATUS and does nothing else
//   fault=DEVICE@N:STATUS         the N-th kernel run on that device from now faults, stickily
//   capacity=DEVICE:BYTES         that device has that much memory (KiB, MiB, GiB)
//
// ENTRY is a name such as cuLaunchKernel, without a version suffix. STATUS is a name or a number.

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

/// Whether there is any rule. Calls and kernels check this first. acquire: pairs with the release
/// in apply()
[[nodiscard]] inline bool armed() noexcept { return detail::armed.load(std::memory_order_acquire); }

/// Adds the rules in `spec`, all or none. False: `error` names the offending part. The caller
/// sets the devices' memory from capacity() afterwards: see driver_state::inject().
[[nodiscard]] bool apply(std::string_view spec, std::string& error);
/// Removes every rule. The caller resets the devices' memory: see driver_state::clear_injection().
void clear();

/// An entry point calls it before it acts. If the result is not CUDA_SUCCESS, the entry point does
/// nothing and returns the result.
[[nodiscard]] CUresult before(char const* entry) noexcept;
/// Called for each kernel before it runs: CUDA_SUCCESS, or the fault that the kernel ends with.
[[nodiscard]] CUresult next_kernel(int device) noexcept;
/// The factor by which kernels of the device take longer.
[[nodiscard]] double slowness(int device) noexcept;
/// The memory of the device in bytes, if a rule sets it.
[[nodiscard]] std::optional<std::size_t> capacity(int device);

}  // namespace flotilla::cpu_driver::injection
