// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A program: an image that is loaded on every device of a runtime.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/detail/access.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/kernel/kernel.hpp>
#include <flotilla/kernel/kernel_handle.hpp>
#include <flotilla/kernel/untyped_kernel.hpp>
#include <flotilla/settings/settings.hpp>

namespace flotilla {
inline namespace v0_1 {

/// A handle of a program, made by `runtime::load`. Copies refer to the same program. A program
/// stays loaded until its runtime ends.
/// Threads: several threads may call const functions at the same time.
class FLOTILLA_EXPORT program {
 public:
  /// Returns the kernel `name`. `Parameters` are its parameter types.
  /// @throws unknown_symbol    The program has no such kernel. The message lists its kernels.
  /// @throws invalid_argument  The parameters of the kernel differ from `Parameters` in their
  ///                           number, sizes or offsets.
  /// @throws gpu_only_kernel   The kernel is only for GPUs, and the runtime has CPU devices.
  /// Blocks  at most for one control operation.
  /// Cost    some driver calls. Create the kernel once and keep it.
  template <class... Parameters>
  [[nodiscard]] flotilla::kernel<Parameters...> kernel(std::string_view name) const {
    constexpr std::size_t count = sizeof...(Parameters);
    detail::parameter_layout const layout[count + 1] = {
        {sizeof(Parameters), alignof(Parameters)}..., {0, 1}};
    return flotilla::kernel<Parameters...>{find_kernel(name, std::span{layout, count})};
  }
  /// Returns the kernel with the parameter types of its source. `flotilla_add_kernels` writes the
  /// handle: `program.kernel(app_kernels.saxpy)`.
  /// @throws the exceptions of the function above
  template <class... Parameters>
  [[nodiscard]] flotilla::kernel<Parameters...> kernel(
      kernel_handle<void(Parameters...)> handle) const {
    return kernel<Parameters...>(std::string_view{handle.name});
  }
  /// Does not compile, and says why.
  template <class Kernel>
  requires std::same_as<Kernel, kernel_without_handle>
  [[nodiscard]] untyped_kernel kernel(Kernel of) const {
    static_assert(
        !std::same_as<Kernel, kernel_without_handle>,
        "the host compiler does not know the type of a parameter of this kernel, which the "
        "generated header names: write the type with its namespace, or name the header that "
        "defines it with the option TYPES of flotilla_add_kernels, or write the types, as in "
        "program.kernel<float*, int>(\"name\")");
    return kernel(std::string_view{of.name});
  }
  /// Returns the kernel `name` for launches whose arguments are chosen at run time.
  /// @throws unknown_symbol, gpu_only_kernel
  /// @throws invalid_argument  The kernel takes more than launch::max_bytes bytes of arguments.
  [[nodiscard]] untyped_kernel kernel(std::string_view name) const;

  /// Returns the names of all kernels of the program.
  [[nodiscard]] std::vector<std::string> kernel_names() const;

  /// Tells the driver whether `kernel` prefers shared memory or L1 cache on `device`. The
  /// preference is a hint and overrides the cache setting of the device's context. Two successive
  /// launches with different preferences may make the device wait.
  /// @throws unknown_symbol, unknown_device, driver_error
  /// Blocks  for one control operation.
  void prefer_cache(device_ordinal device, std::string_view kernel,
                    cache_preference preference) const;

  /// Copy `bytes.size()` bytes to or from the start of the `__device__` or `__constant__` variable
  /// `name`. Each device has its own copy of the variable. The functions return when the copy is
  /// done. They do not wait for tasks that use the variable: the caller must wait for those tasks
  /// before the call.
  /// @throws unknown_symbol    The program has no such variable.
  /// @throws invalid_argument  The variable is smaller than `bytes`.
  void write_global(device_ordinal device, std::string_view name,
                    std::span<std::byte const> bytes) const;
  void read_global(device_ordinal device, std::string_view name, std::span<std::byte> bytes) const;

 private:
  friend struct detail::access;
  program(detail::runtime_impl& owner, std::uint32_t index) noexcept
      : owner_{&owner}, index_{index} {}
  [[nodiscard]] detail::kernel_ref find_kernel(
      std::string_view name, std::span<detail::parameter_layout const> layout) const;
  detail::runtime_impl* owner_;
  std::uint32_t index_;
};

}  // namespace v0_1
}  // namespace flotilla
