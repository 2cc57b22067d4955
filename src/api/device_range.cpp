// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/detail/device_range.hpp>

#include <algorithm>
#include <cstring>
#include <string>

#include <flotilla/error/error.hpp>
#include <flotilla/task/ticket.hpp>

#include "base/access.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla {
inline namespace v0_1 {
namespace detail {

namespace {

/// Returns which kernels can access both the device's and the host's memory of a copy.
kernel_reach reach_with(kernel_reach of_device, host_memory host) noexcept {
  return host == host_memory::mapped ? of_device : kernel_reach::nowhere;
}

/// Returns the length of the shortest pattern that, repeated, makes up `value`.
std::size_t period_of(std::byte const* value, std::size_t size) noexcept {
  for (std::size_t period = 1; period < size; ++period) {
    if (size % period == 0 && std::equal(value + period, value + size, value)) { return period; }
  }
  return size;
}

}  // namespace

memory_op device_range::copy_from_host(void const* host, host_memory kind) const noexcept {
  return memory_op{{.to = address_,
                    .from = reinterpret_cast<std::uintptr_t>(host),
                    .bytes = bytes_,
                    .kind = memory_op_kind::host_to_device,
                    .pinned = kind != host_memory::pageable,
                    .reach = reach_with(reach_, kind),
                    .device = device_,
                    .owner = owner_}};
}

memory_op device_range::copy_to_host(void* host, host_memory kind) const noexcept {
  return memory_op{{.to = reinterpret_cast<std::uintptr_t>(host),
                    .from = address_,
                    .bytes = bytes_,
                    .kind = memory_op_kind::device_to_host,
                    .pinned = kind != host_memory::pageable,
                    .reach = reach_with(reach_, kind),
                    .device = device_,
                    .owner = owner_}};
}

memory_op device_range::copy_to(device_range const& to) const {
  // Check the runtimes here: a memory_command stores only one of them, so `submit` cannot compare
  // them.
  if (to.owner_ != owner_) {
    throw wrong_runtime("the source and the destination of a copy belong to different runtimes");
  }
  return memory_op{{.to = to.address_,
                    .from = address_,
                    .bytes = bytes_,
                    .kind = memory_op_kind::device_to_device,
                    .reach = std::min(reach_, to.reach_),
                    .device = to.device_,
                    .owner = owner_,
                    .from_device = device_}};
}

memory_op device_range::fill(void const* value, std::size_t size) const {
  auto const* const bytes = static_cast<std::byte const*>(value);
  std::size_t const period = period_of(bytes, size);
  if (period > memory_command::max_pattern_bytes) {
    throw invalid_argument("a fill can repeat a pattern of at most " +
                           std::to_string(memory_command::max_pattern_bytes) +
                           " bytes, but the value of " + std::to_string(size) +
                           " bytes has a pattern of " + std::to_string(period) +
                           " bytes; copy from host memory instead");
  }
  memory_command command{.to = address_,
                         .bytes = bytes_,
                         .kind = memory_op_kind::fill,
                         .pattern_bytes = static_cast<std::uint8_t>(period),
                         .reach = reach_,
                         .device = device_,
                         .owner = owner_};
  std::memcpy(command.pattern, bytes, period);
  return memory_op{command};
}

void run_memory_op(memory_op const& what) {
  memory_command const& command = access::command(what);
  ticket made;
  dispatch::runtime_state::of(*command.owner)
      .tasks.submit(command, task_options{}, dispatch::when_full::wait, &made);
  made.wait();
}

void refuse_size(std::size_t on_device, std::size_t other) {
  throw invalid_argument(
      "the source and the destination of a copy must have the same number of objects, but the "
      "memory of the device has " +
      std::to_string(on_device) + " and the other side " + std::to_string(other));
}

void refuse_part(std::size_t size, std::size_t offset, std::size_t count) {
  throw invalid_argument(
      "subspan: a part " +
      (count == static_cast<std::size_t>(-1) ? "" : "of size " + std::to_string(count) + " ") +
      "at offset " + std::to_string(offset) + " is not inside the span, which has size " +
      std::to_string(size));
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
