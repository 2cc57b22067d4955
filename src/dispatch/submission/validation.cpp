// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/submission/validation.hpp"

#include <string>

#include <flotilla/error/error.hpp>

#include "base/access.hpp"
#include "dispatch/device/host_rows.hpp"

namespace flotilla::dispatch {

namespace {

std::string text_of(extent const& size) {
  return std::to_string(size.x) + " x " + std::to_string(size.y) + " x " + std::to_string(size.z);
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

/// @throws invalid_argument  No device of this kind can launch with these attributes.
[[gnu::noinline]] void check_attributes(std::string const& kernel, launch const& what,
                                        device_kind kind) {
  extent const cluster = what.attributes().cluster;
  extent const grid = what.grid();
  auto const refuse = [&](std::string const& why) {
    throw invalid_argument("kernel '" + kernel + "': " + why);
  };
  std::string const text = "clusters of " + text_of(cluster) + " blocks";
  if (cluster.x == 0 || cluster.y == 0 || cluster.z == 0) {
    refuse(text + " are empty; every extent must be at least 1");
  }
  bool const portable = what.attributes().cluster_limit == cluster_limit::portable;
  std::uint64_t const max = portable ? 8 : 16;
  if (cluster.x > max || cluster.y > max || cluster.z > max ||
      std::uint64_t{cluster.x} * cluster.y * cluster.z > max) {
    refuse(text + " are too large; a cluster may have at most " + std::to_string(max) + " blocks" +
           (portable ? ", or 16 with cluster_limit::non_portable" : ""));
  }
  if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
    refuse("a grid of " + text_of(grid) + " blocks cannot be divided into " + text +
           "; every extent of the grid must be a multiple of the cluster's");
  }
  if (kind != device_kind::cpu) { return; }
  if (cluster != extent{}) { refuse("CPU devices cannot run " + text); }
  if (what.attributes().cooperative && grid != extent{}) {
    refuse("CPU devices run only cooperative grids of 1 block, but the grid has " + text_of(grid) +
           " blocks");
  }
}

}  // namespace

void validation::refuse(device_ordinal device) const {
  throw unknown_device("there is no device " + std::to_string(device.value) +
                       "; the number of devices of this runtime is " + std::to_string(devices_) +
                       ", and ordinals begin at 0");
}

// The arguments need no check: `program::kernel` has compared the parameters, and a launch has one
// argument for each parameter.
void validation::check_all(launch const& what, std::optional<device_ordinal> device) const {
  if (detail::access::impl(what) != &owner_) {
    if (detail::access::impl(what) == nullptr) {
      throw invalid_argument("the launch was moved from; it has no kernel");
    }
    throw wrong_runtime(
        "the kernel of the launch belongs to another runtime; load its program in this runtime");
  }
  kernel_entry const& kernel = kernels_.kernels[detail::access::kernel_index(what)];
  if (!detail::are_possible(what.grid(), what.block())) { refuse_extents(kernel.name, what); }
  if (detail::access::marks(what).is_attributed) [[unlikely]] {
    check_attributes(kernel.name, what, kind_);
  }
  if (device) { static_cast<void>(checked(*device)); }
  if (what.device()) {
    device_ordinal const on = device.value_or(*what.device());
    if (on != *what.device() || !detail::access::ranges(what).empty()) { check_access(what, on); }
  }
}

void validation::check_access(launch const& what, device_ordinal device) const {
  auto const check_one = [&](device_ordinal home, std::optional<std::size_t> argument) {
    std::string const& why = peers_.refusal(device.value, home.value);
    if (why.empty()) { return; }
    throw invalid_argument(
        "kernel '" + kernels_.kernels[detail::access::kernel_index(what)].name + "'" +
        (argument ? ", argument " + std::to_string(*argument) : "") + ": a buffer of device " +
        std::to_string(home.value) + " cannot be used on device " + std::to_string(device.value) +
        ", because device " + std::to_string(device.value) + " has no access to that memory: " +
        why + "; submit the launch for the buffer's device, or copy the data to device " +
        std::to_string(device.value));
  };
  for (detail::argument_range const& each : detail::access::ranges(what)) {
    check_one(each.device, each.argument);
  }
  check_one(*what.device(), std::nullopt);
}

void validation::check_recordable(launch const& what) const {
  if (what.has_task_status()) {
    throw invalid_argument(
        "kernel '" + kernels_.kernels[detail::access::kernel_index(what)].name +
        "' has a task_status, so it cannot be recorded: a graph would run its successors even if "
        "it failed; submit the launch");
  }
  launch_attributes const& attributes = what.attributes();
  if (attributes == launch_attributes{}) { return; }
  throw invalid_argument("kernel '" + kernels_.kernels[detail::access::kernel_index(what)].name +
                         "': a launch " +
                         (attributes.cooperative    ? "with the attribute `cooperative`"
                          : attributes.programmatic ? "with the attribute `programmatic`"
                                                    : "in clusters") +
                         " cannot be recorded; submit it as a task");
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
  if (what.kind == memory_op_kind::host_to_device || what.kind == memory_op_kind::device_to_host) {
    check_host_side(what, 0, what.bytes);
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
  if (what.event == nullptr) { throw invalid_argument("submit: the event is null"); }
  if (device) { static_cast<void>(checked(*device)); }
}

void validation::refuse_list(std::span<task_id const> tasks, std::string_view name) const {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    task_id const ahead = tasks[i];
    if (ahead.runtime == owner_.number) { continue; }
    std::string const entry =
        "entry " + std::to_string(i) + " of `" + std::string{name} + "` names ";
    if (detail::access::is_recorded(ahead)) {
      throw invalid_argument(entry +
                             "a task of a recording; only tasks of that recording can run after "
                             "it");
    }
    if (ahead.runtime == 0) {
      throw invalid_argument(entry + "no task: the ticket or task_id is empty");
    }
    throw wrong_runtime(entry + "a task of another runtime; wait for that task first");
  }
}

void validation::refuse_rank(task_options const& options) {
  throw invalid_argument(
      (options.label.empty() ? "a task" : "task '" + std::string{options.label} + "'") +
      ": task_options::rank is " + std::to_string(options.rank) +
      ", but the task is not in a flow over several ranks");
}

void validation::check_list(std::span<task_id const> tasks, std::string_view name) const {
  std::uint64_t differences = 0;
  for (task_id const& ahead : tasks) { differences |= ahead.runtime ^ owner_.number; }
  if (differences != 0) [[unlikely]] { refuse_list(tasks, name); }
}

void validation::check_predecessors(std::span<task_id const> after,
                                    std::span<task_id const> after_end,
                                    std::size_t reserved) const {
  check_list(after, "after");
  check_list(after_end, "after_end");
  std::size_t const count = after.size() + after_end.size();
  std::size_t const max = max_dependencies - reserved;
  if (count > max) {
    throw invalid_argument(
        (after_end.empty() ? "`after` has " : "`after` and `after_end` together have ") +
        std::to_string(count) + " entries: at most " + std::to_string(max) + " are allowed");
  }
}

}  // namespace flotilla::dispatch
