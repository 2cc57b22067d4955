// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/kernel_copies.hpp"

#include "dispatch/graph/copy_kernels.hpp"

namespace flotilla::dispatch {

namespace {

bool has_two_devices(detail::memory_command const& what) noexcept {
  return what.kind == memory_op_kind::device_to_device && what.device != what.from_device;
}

}  // namespace

void kernel_copies::create(builtin_functions const& functions, bool batches) {
  usable_ = functions.can_copy() && batches && parts_.shared.fuse_launches;
  auto const add = [this](std::uint32_t index, CUfunction kernel, CUfunction twin) {
    kernel_entry& entry = parts_.shared.kernels.kernels[index];
    entry.functions.push_back(kernel);
    entry.twin.functions.push_back(twin);
  };
  add(builtin_index::copy, functions.copy, functions.copy_twin);
  add(builtin_index::fill, functions.fill, functions.fill_twin);
  for (unsigned other = 0; other < parts_.shared.tasks.devices(); ++other) {
    peers_.push_back(parts_.peers.reaches(parts_.device, other));
  }
}

bool kernel_copies::is_in_reach(detail::memory_command const& what) const noexcept {
  using detail::kernel_reach;
  return has_two_devices(what) ? what.reach == kernel_reach::peers && peers_[what.from_device.value]
                               : what.reach != kernel_reach::nowhere;
}

bool kernel_copies::describe(slot& task) const noexcept {
  auto const& what = held_in<detail::memory_command>(task);
  if (!usable_ || !task.batch || !copy_kernels::is_small(what) || !is_in_reach(what)) {
    return false;
  }
  task.kernel = what.kind == memory_op_kind::fill ? builtin_index::fill : builtin_index::copy;
  task.shared_bytes = 0;
  task.grid[0] = copy_kernels::blocks(what);
  task.grid[1] = task.grid[2] = 1;
  task.block[0] = copy_kernels::threads;
  task.block[1] = task.block[2] = 1;
  task.attributed = false;
  return true;
}

bool kernel_copies::is_between_devices(slot& task) noexcept {
  return has_two_devices(held_in<detail::memory_command>(task));
}

bool kernel_copies::prefers_kernel(slot& task) noexcept {
  auto const& what = held_in<detail::memory_command>(task);
  // A kernel reads the other device's memory directly. A copy engine takes several microseconds
  // more, also for its waits for the other device.
  if (has_two_devices(what)) { return true; }
  return what.kind == memory_op_kind::fill && what.pattern_bytes != 1 && what.pattern_bytes != 2 &&
         what.pattern_bytes != 4;
}

}  // namespace flotilla::dispatch
