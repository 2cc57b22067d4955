// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/check/submit_checks.hpp"

#include <exception>
#include <string>

#include "base/access.hpp"
#include "dispatch/check/text.hpp"

namespace flotilla::dispatch {

namespace {

std::string text_with_device(detail::memory_command const& what) {
  std::string const device = "device " + std::to_string(what.device.value);
  switch (what.kind) {
    case memory_op_kind::host_to_device: return "a copy from the host to " + device;
    case memory_op_kind::device_to_host: return "a copy from " + device + " to the host";
    case memory_op_kind::device_to_device:
      return "a copy from device " + std::to_string(what.from_device.value) + " to " + device;
    case memory_op_kind::fill: break;
  }
  return "a fill on " + device;
}

[[nodiscard]] checked_task marked(checked_task task, bool by_flow) {
  task.by_flow = by_flow;
  return task;
}

/// Returns all tasks after which a task runs.
dependency_list predecessors_of(task_options const& how) {
  dependency_list all{how.after};
  for (task_id const& each : how.after_end.ids()) { all.add(each); }
  return all;
}

}  // namespace

checked_task submit_checks::describe(launch const& what, std::string_view label) const {
  std::string const& kernel = kernels_.kernels[detail::access::kernel_index(what)].name;
  return {check_text::of_kernel(kernel, label), std::string{label}, accesses_.of(what)};
}

checked_task submit_checks::describe(detail::memory_command const& what,
                                     std::string_view label) const {
  return {check_text::with_label(text_with_device(what), label), std::string{label},
          accesses_.of(what)};
}

void submit_checks::check_order(launch const& what, task_options const& how, task_name name,
                                std::span<task_name const> inside, bool by_flow) {
  if (!which_.order) { return; }
  order_.add(name, predecessors_of(how), inside, marked(describe(what, how.label), by_flow));
}

void submit_checks::check_order(detail::memory_command const& what, task_options const& how,
                                task_name name, std::span<task_name const> inside, bool by_flow) {
  if (!which_.order) { return; }
  order_.add(name, predecessors_of(how), inside, marked(describe(what, how.label), by_flow));
}

void submit_checks::check_order(callable const&, task_options const& how, task_name name,
                                std::span<task_name const> inside, bool) {
  if (which_.order) { order_.add(name, predecessors_of(how), inside, {"a callable", {}, {}}); }
}

void submit_checks::check_order(detail::event_command const&, task_options const& how,
                                task_name name, std::span<task_name const> inside, bool) {
  if (which_.order) {
    order_.add(name, predecessors_of(how), inside, {"a wait for an event", {}, {}});
  }
}

void submit_checks::check_order_of_host_task(task_options const& how, task_name name,
                                             std::span<task_name const> inside) {
  if (!which_.order) { return; }
  order_.add(name, predecessors_of(how), inside,
             {check_text::with_label("a host task", how.label), std::string{how.label}, {}});
}

void submit_checks::check_order_of_replay(unsigned device, std::vector<memory_access> accesses,
                                          task_options const& how, task_name name,
                                          std::span<task_name const> inside) {
  if (!which_.order) { return; }
  order_.add(name, predecessors_of(how), inside,
             {check_text::with_label("a replay on device " + std::to_string(device), how.label),
              std::string{how.label}, std::move(accesses)});
}

void submit_checks::destroyed(std::uintptr_t address, std::size_t bytes) noexcept {
  try {
    if (which_.arguments) { arguments_.destroyed(address); }
    if (which_.order) { order_.freed(address, bytes); }
  } catch (std::exception const&) {
    // There is no host memory for the record. The argument check may then miss a mistake. The order
    // check recognizes new memory at this address by the number of the allocation.
  }
}

}  // namespace flotilla::dispatch
