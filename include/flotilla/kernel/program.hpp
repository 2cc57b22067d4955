#pragma once
/// A loaded image: its kernels and globals, on every device of a runtime.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/device.hpp>
#include <flotilla/export.hpp>
#include <flotilla/kernel.hpp>
#include <flotilla/settings.hpp>

namespace flotilla {

/// Got from `runtime::load`. A copy names the same program. It stays loaded until its runtime ends.
/// Threads: const calls from any thread at once.
class FLOTILLA_EXPORT program {
 public:
  program(dispatch::core& owner, std::uint32_t index) noexcept : owner_{&owner}, index_{index} {}

  /// The kernel `name`, whose parameters are `Parameters`.
  /// @throws unknown_kernel    The program has none of that name; the message lists those it has.
  /// @throws invalid_argument  Count, size or place of a parameter differs from the kernel's.
  /// Blocks  for a control operation at most. Cost: some driver calls; keep the kernel.
  template <class... Parameters>
  [[nodiscard]] flotilla::kernel<Parameters...> kernel(std::string_view name) const {
    constexpr std::size_t count = sizeof...(Parameters);
    detail::parameter_layout const layout[count + 1] = {{sizeof(Parameters), alignof(Parameters)}..., {0, 1}};
    return {*owner_, find_kernel(name, std::span{layout, count})};
  }

  /// The names of its kernels.
  [[nodiscard]] std::vector<std::string> kernel_names() const;

  /// Which of shared memory and L1 cache `kernel` prefers on `device`: it wins over what the settings of that device's
  /// context say, there alone. A hint; changing it between launches may cost the device a pause.
  /// @throws unknown_kernel, unknown_device, driver_error
  /// Blocks  for a control operation.
  void prefer_cache(device_ordinal device, std::string_view kernel, cache_preference preference) const;

  /// Copies `bytes.size()` bytes to or from the start of the `__device__` or `__constant__` variable
  /// `name`, as `device` has it: every device has its own. Waits until the copy is done; tasks that were
  /// submitted and have not ended are not waited for: wait for those that use it.
  /// @throws unknown_kernel    There is no such variable.
  /// @throws invalid_argument  It is smaller than that.
  void write_global(device_ordinal device, std::string_view name, std::span<std::byte const> bytes) const;
  void read_global(device_ordinal device, std::string_view name, std::span<std::byte> bytes) const;

 private:
  [[nodiscard]] std::uint32_t find_kernel(std::string_view name,
                                          std::span<detail::parameter_layout const> layout) const;
  dispatch::core* owner_;
  std::uint32_t index_;
};

}  // namespace flotilla
