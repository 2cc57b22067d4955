#pragma once
/// Fault injection for CPU devices: slow kernels, late and failing driver calls, faults and memory
/// limits. It serves tests of programs that use flotilla, and has no effect on GPUs.
///
/// The environment variable FLOTILLA_CPU_INJECT injects the same faults when the process starts, as
/// in FLOTILLA_CPU_INJECT="slow=1:5,fail=cuLaunchKernel@10:CUDA_ERROR_OUT_OF_MEMORY".

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/error/driver_status.hpp>

/// Every function may be called from any thread at any time. It affects the whole process and takes
/// effect from the next call or kernel on. If it throws, it has changed nothing.
namespace flotilla {
inline namespace v0_1 {
namespace testing {

/// A CPU device, by its number in the CPU driver. It need not exist yet.
struct FLOTILLA_EXPORT cpu_device {
  explicit constexpr cpu_device(int ordinal) noexcept : driver_ordinal{ordinal} {}
  /// @throws invalid_argument  `device` is a GPU.
  cpu_device(device const& device);

  int driver_ordinal;  ///< as `device::driver_ordinal`, from 0
};

/// The `nth` call of `entry` from now on (1 is the next) returns `status` and does nothing else.
/// Injected failures accumulate: each counts down by itself.
/// @param entry  An entry point of the driver without version suffix, such as "cuLaunchKernel".
/// @throws invalid_argument  naming the argument: the CPU driver has no such entry point, `nth` is
///                           0, or `status` is not an error.
FLOTILLA_EXPORT void fail_call(std::string_view entry, std::uint64_t nth, driver_status status);

/// Every call of `entry` takes this much longer. It replaces an earlier delay of that entry point.
/// @throws invalid_argument  naming the argument: the CPU driver has no such entry point, or
///                           `delay` is negative or longer than an hour.
FLOTILLA_EXPORT void delay_calls(std::string_view entry, std::chrono::microseconds delay);

/// Kernels on `device` take `factor` times as long. It replaces an earlier factor of that device.
/// @throws invalid_argument  naming the argument: the CPU driver cannot have such a device, or
///                           `factor` is not between 1 and 1000000.
FLOTILLA_EXPORT void slow_kernels(cpu_device device, double factor);

/// The `nth` kernel on `device` from now on (1 is the next) faults with `status`, and the driver of
/// this process is poisoned. Injected faults accumulate.
/// @throws invalid_argument  naming the argument: the CPU driver cannot have such a device, `nth`
///                           is 0, or `status` is not an error.
FLOTILLA_EXPORT void fault_kernel(cpu_device device, std::uint64_t nth, driver_status status);

/// `device` has this much memory. It replaces an earlier limit of that device.
/// @throws invalid_argument  naming the argument: the CPU driver cannot have such a device.
FLOTILLA_EXPORT void limit_memory(cpu_device device, std::size_t bytes);

/// Removes all injected faults, those of FLOTILLA_CPU_INJECT too. A driver that is poisoned stays
/// so.
FLOTILLA_EXPORT void clear_faults();

}  // namespace testing
}  // namespace v0_1
}  // namespace flotilla
