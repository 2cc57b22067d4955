// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Refuses invalid tasks before they get a slot.

#include <optional>
#include <string_view>

#include <flotilla/detail/event_command.hpp>
#include <flotilla/detail/memory_command.hpp>
#include <flotilla/device/device.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/task/callable.hpp>
#include <flotilla/task/task_id.hpp>
#include <flotilla/task/task_options.hpp>

#include "base/access.hpp"
#include "context/peers.hpp"
#include "dispatch/graph/kernel_table.hpp"

namespace flotilla::dispatch {

/// Checks tasks. Each error text says what is wrong and what is allowed. Threads: any.
class validation {
 public:
  static constexpr std::size_t max_dependencies = 0xffff;

  validation(detail::runtime_impl const& owner, kernel_table const& kernels,
             context::peer_table const& peers, unsigned devices, device_kind kind)
      : owner_(owner), kernels_(kernels), peers_(peers), devices_(devices), kind_(kind) {}

  /// Returns the index of the device.
  /// @throws unknown_device
  [[nodiscard]] unsigned checked(device_ordinal device) const {
    if (device.value >= devices_) { refuse(device); }
    return device.value;
  }
  /// Checks a task.
  /// @param device  The device in the task's options.
  /// @throws invalid_argument, wrong_runtime, unknown_device
  void check(launch const& what, std::optional<device_ordinal> const& device) const {
    // This is true for most launches, and needs few comparisons.
    bool const is_plain =
        detail::access::impl(what) == &owner_ && !detail::access::marks(what).is_special &&
        (!device || (device->value < devices_ && (!what.device() || *what.device() == *device)));
    if (!is_plain) { check_all(what, device); }
  }
  void check(detail::memory_command const& what, std::optional<device_ordinal> device) const;
  void check(callable const& what, std::optional<device_ordinal> device,
             std::string_view label) const;
  void check(detail::event_command const& what, std::optional<device_ordinal> device) const;
  /// @throws invalid_argument  The launch has attributes.
  void check_recordable(launch const& what) const;
  /// Checks the rank of a task that is not in a flow over several ranks. @throws invalid_argument
  static void check_rank(task_options const& options) {
    if (options.rank > 0 || options.rank < task_options::any_rank) [[unlikely]] {
      refuse_rank(options);
    }
  }
  /// Checks the lists of predecessors (see task_options).
  /// @param reserved  How many predecessors the runtime will add.
  /// @throws invalid_argument, wrong_runtime
  void check_predecessors(std::span<task_id const> after, std::span<task_id const> after_end,
                          std::size_t reserved = 0) const;

 private:
  [[noreturn]] static void refuse_rank(task_options const& options);
  [[noreturn]] void refuse(device_ordinal device) const;
  /// @param name  What error texts call the list.
  void check_list(std::span<task_id const> tasks, std::string_view name) const;
  /// Throws the error of the first task that is not a task of this runtime.
  [[gnu::noinline]] void refuse_list(std::span<task_id const> tasks, std::string_view name) const;
  /// Checks a launch completely.
  void check_all(launch const& what, std::optional<device_ordinal> device) const;
  /// Checks whether `device` can access the memory of all buffers among the arguments. Not inline,
  /// because most launches use the memory of one device only.
  /// @throws invalid_argument
  [[gnu::noinline]] void check_access(launch const& what, device_ordinal device) const;

  detail::runtime_impl const& owner_;
  kernel_table const& kernels_;
  context::peer_table const& peers_;
  unsigned const devices_;  // number of devices
  device_kind const kind_;  // of all devices
};

}  // namespace flotilla::dispatch
