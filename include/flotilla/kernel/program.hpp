#pragma once
/// A loaded image: its kernels and globals, on every device of a runtime.

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
#include <flotilla/settings/settings.hpp>

namespace flotilla {
inline namespace v0_1 {

/// `runtime::load` makes it. A copy names the same program, which stays loaded until its runtime
/// ends. Threads: const calls from any thread at once.
class FLOTILLA_EXPORT program {
 public:
  /// The kernel `name`, whose parameters are `Parameters`.
  /// @throws unknown_symbol    The program has no such kernel; the message lists its kernels.
  /// @throws invalid_argument  The count, size or offset of a parameter differs from the kernel's.
  /// Blocks  at most for a control operation. Cost: some driver calls, so create the kernel once
  ///         and keep it.
  template <class... Parameters>
  [[nodiscard]] flotilla::kernel<Parameters...> kernel(std::string_view name) const {
    constexpr std::size_t count = sizeof...(Parameters);
    detail::parameter_layout const layout[count + 1] = {
        {sizeof(Parameters), alignof(Parameters)}..., {0, 1}};
    return {owner_, find_kernel(name, std::span{layout, count})};
  }

  /// The names of its kernels.
  [[nodiscard]] std::vector<std::string> kernel_names() const;

  /// Whether `kernel` prefers shared memory or L1 cache on `device`. It overrides the setting of
  /// that device's context. A hint: changing it between launches may make the device wait.
  /// @throws unknown_symbol, unknown_device, driver_error
  /// Blocks  for a control operation.
  void prefer_cache(device_ordinal device, std::string_view kernel,
                    cache_preference preference) const;

  /// Copies `bytes.size()` bytes to or from the start of the `__device__` or `__constant__`
  /// variable `name`. Each device has its own. Waits for the copy, but not for tasks that use the
  /// variable: wait for those first.
  /// @throws unknown_symbol    The program has no such variable.
  /// @throws invalid_argument  The variable is smaller than `bytes`.
  void write_global(device_ordinal device, std::string_view name,
                    std::span<std::byte const> bytes) const;
  void read_global(device_ordinal device, std::string_view name, std::span<std::byte> bytes) const;

 private:
  friend struct detail::access;
  program(detail::runtime_impl& owner, std::uint32_t index) noexcept
      : owner_{&owner}, index_{index} {}
  [[nodiscard]] std::uint32_t find_kernel(std::string_view name,
                                          std::span<detail::parameter_layout const> layout) const;
  detail::runtime_impl* owner_;
  std::uint32_t index_;
};

}  // namespace v0_1
}  // namespace flotilla
