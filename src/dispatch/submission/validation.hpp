#pragma once
// Refuses invalid tasks, before they get a slot.

#include <optional>
#include <string_view>

#include <flotilla/detail/memory_command.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/task/callable.hpp>
#include <flotilla/task/dependency_list.hpp>

#include "dispatch/graph/kernel_table.hpp"

namespace flotilla::dispatch {

/// Threads: any. Every error says what is wrong and what is allowed.
class validation {
 public:
  static constexpr std::size_t max_dependencies = 0xffff;

  validation(detail::runtime_impl const& owner, kernel_table const& kernels, unsigned devices)
      : owner_(owner), kernels_(kernels), devices_(devices) {}

  /// @throws unknown_device
  [[nodiscard]] unsigned checked(device_ordinal device) const {
    if (device.value >= devices_) { refuse(device); }
    return device.value;
  }
  /// @param device  The device that the options name.
  /// @throws invalid_argument, wrong_runtime, unknown_device
  void check(launch const& what, std::optional<device_ordinal> device) const;
  void check(detail::memory_command const& what, std::optional<device_ordinal> device) const;
  void check(callable const& what, std::optional<device_ordinal> device,
             std::string_view label) const;
  void check_after(dependency_list const& after, std::size_t max = max_dependencies) const;

 private:
  [[noreturn]] void refuse(device_ordinal device) const;

  detail::runtime_impl const& owner_;
  kernel_table const& kernels_;
  unsigned const devices_;  // a count
};

}  // namespace flotilla::dispatch
