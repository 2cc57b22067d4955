// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/submission/validation.hpp"

#include <string>

#include <flotilla/error/error.hpp>

#include "base/access.hpp"

namespace flotilla::dispatch {

namespace {

std::string text_of(extent const& size) {
  return std::to_string(size.x) + " x " + std::to_string(size.y) + " x " + std::to_string(size.z);
}

/// Whether the extents are within the limits, which are the same for all CUDA devices.
bool is_possible(extent const& grid, extent const& block) noexcept {
  // Subtracting 1 from an extent of 0 gives the greatest number. So one comparison finds zeros as
  // well as extents that are too large.
  return grid.x - 1 < 0x7fff'ffff && grid.y - 1 < 0xffff && grid.z - 1 < 0xffff &&
         ((block.x - 1) | (block.y - 1)) < 1024 && block.z - 1 < 64 &&
         block.x * block.y * block.z <= 1024;
}

// Not inline: inlined code would make the compiler spill registers in the hot path of `submit`.

[[noreturn, gnu::noinline]] void refuse_extents(std::string const& kernel, launch const& what) {
  auto const is_empty = [](extent const& size) {
    return size.x == 0 || size.y == 0 || size.z == 0;
  };
  std::string const text = "kernel '" + kernel + "': a grid of " + text_of(what.grid()) +
                           " blocks of " + text_of(what.block()) + " threads ";
  if (is_empty(what.grid()) || is_empty(what.block())) {
    throw invalid_argument(text + "is empty; every extent must be at least 1");
  }
  throw invalid_argument(text +
                         "is too large; a block may have at most 1024 x 1024 x 64 threads, "
                         "and 1024 threads in total, and a grid at most 2147483647 x 65535 "
                         "x 65535 blocks");
}
[[noreturn, gnu::noinline]] void refuse_device(std::string const& kernel, launch const& what,
                                               device_ordinal device) {
  throw invalid_argument("kernel '" + kernel + "': a buffer of device " +
                         std::to_string(what.device()->value) + " cannot be used on device " +
                         std::to_string(device.value) +
                         "; submit the launch for the buffer's device");
}

}  // namespace

void validation::refuse(device_ordinal device) const {
  throw unknown_device("there is no device " + std::to_string(device.value) +
                       "; the number of devices of this runtime is " + std::to_string(devices_) +
                       ", and ordinals begin at 0");
}

// The arguments need no check: `program::kernel` has compared the parameters, and a launch has one
// argument for each parameter.
void validation::check(launch const& what, std::optional<device_ordinal> device) const {
  if (detail::access::impl(what) != &owner_) {
    if (detail::access::impl(what) == nullptr) {
      throw invalid_argument("the launch was moved from; it has no kernel");
    }
    throw wrong_runtime(
        "the kernel of the launch belongs to another runtime; load its program in this runtime");
  }
  kernel_entry const& kernel = kernels_.kernels[detail::access::kernel_index(what)];
  if (!is_possible(what.grid(), what.block())) { refuse_extents(kernel.name, what); }
  if (device) { static_cast<void>(checked(*device)); }
  if (device && what.device() && *device != *what.device()) {
    refuse_device(kernel.name, what, *device);
  }
}

void validation::check(detail::memory_command const& what,
                       std::optional<device_ordinal> device) const {
  if (what.owner == nullptr) {
    throw invalid_argument(
        "the copy or fill uses a buffer without memory: the buffer is empty or was moved from");
  }
  if (what.owner != &owner_) {
    throw wrong_runtime(
        "the copy or fill uses a buffer of another runtime; submit it to that runtime");
  }
  if (device && *device != what.device) {
    throw invalid_argument("a copy or fill that must run on device " +
                           std::to_string(what.device.value) + " was submitted for device " +
                           std::to_string(device->value) + "; leave task_options::device empty");
  }
}

void validation::check(callable const& what, std::optional<device_ordinal> device,
                       std::string_view label) const {
  if (!what) {
    throw invalid_argument("the callable is null, but a task needs a function to run" +
                           (label.empty() ? "" : "; its label is '" + std::string{label} + "'"));
  }
  if (device) { static_cast<void>(checked(*device)); }
}

void validation::check(detail::event_command const& what,
                       std::optional<device_ordinal> device) const {
  if (what.event == nullptr) { throw invalid_argument("submit_event: the event is null"); }
  if (device) { static_cast<void>(checked(*device)); }
}

void validation::check_after(dependency_list const& after, std::size_t max) const {
  for (std::size_t i = 0; i < after.size(); ++i) {
    task_id const ahead = after[i];
    if (detail::access::is_recorded(ahead)) {
      throw invalid_argument("entry " + std::to_string(i) +
                             " of `after` names a task of a recording; only tasks of that "
                             "recording can run after it");
    }
    if (ahead.runtime == 0) {
      throw invalid_argument("entry " + std::to_string(i) +
                             " of `after` names no task: the ticket or task_id is empty");
    }
    if (ahead.runtime != owner_.number) {
      throw wrong_runtime("entry " + std::to_string(i) +
                          " of `after` names a task of another runtime; wait for that task first");
    }
  }
  if (after.size() > max) {
    throw invalid_argument("`after` has " + std::to_string(after.size()) + " entries: at most " +
                           std::to_string(max) + " are allowed");
  }
}

}  // namespace flotilla::dispatch
