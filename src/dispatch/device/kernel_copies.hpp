// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides which copies and fills a kernel executes.

#include <vector>

#include <flotilla/detail/memory_command.hpp>

#include "context/peers.hpp"
#include "dispatch/device/runtime_parts.hpp"

namespace flotilla::dispatch {

/// A small copy or fill can be a launch of a built-in kernel (see copy_kernels). Then it shares
/// grids with other copies, and waves with other launches. A copy engine needs microseconds for
/// each copy, however small it is.
///
/// Threads: only the holder of the device's lease.
class kernel_copies {
 public:
  struct parts {
    runtime_parts const& shared;
    context::peer_table const& peers;
    unsigned device;
  };
  explicit kernel_copies(parts const& with) : parts_(with) {}
  /// Adds the device's functions to the kernel table. Call it when the runtime starts, once for
  /// each device, in the order of the devices.
  /// @param batches  Whether the device can launch batches as graphs.
  void create(builtin_functions const& functions, bool batches);

  /// If a kernel may execute the copy or fill in the slot, describes it as a launch, and returns
  /// true. The command remains in the slot.
  bool describe(slot& task) const noexcept;
  /// Returns whether the task copies from another device.
  [[nodiscard]] static bool is_between_devices(slot& task) noexcept;
  /// Returns whether the task, for which `describe` is true, should use the kernel even if it is
  /// the only task: a copy engine would take longer, or need several driver calls.
  [[nodiscard]] static bool prefers_kernel(slot& task) noexcept;

 private:
  [[nodiscard]] bool is_in_reach(detail::memory_command const& what) const noexcept;

  parts const parts_;
  bool usable_ = false;
  std::vector<bool> peers_;  // by device: whether kernels of this device can access its memory
};

}  // namespace flotilla::dispatch
