// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/fault/task_text.hpp"

#include <flotilla/detail/memory_command.hpp>

#include "dispatch/recording/replayed_part.hpp"
#include "dispatch/task/chunk_command.hpp"

namespace flotilla::dispatch {

namespace {

std::string text_with_size(detail::memory_command const& what) {
  std::string const bytes = " of " + std::to_string(what.bytes) + " bytes";
  switch (what.kind) {
    case memory_op_kind::host_to_device: return "a copy" + bytes + " from the host";
    case memory_op_kind::device_to_host: return "a copy" + bytes + " to the host";
    case memory_op_kind::device_to_device:
      return "a copy" + bytes +
             (what.from_device == what.device
                  ? " within the device"
                  : " from device " + std::to_string(what.from_device.value));
    case memory_op_kind::fill: return "a fill" + bytes;
  }
  return "a copy or fill";
}

}  // namespace

std::string task_text::describe(slot_address task, std::string const& subject) const {
  return describe_work(task) + end_of(task, subject);
}

std::string task_text::describe_work(slot_address task) const {
  slot& one = tasks_.at(task);
  std::string text;
  switch (one.kind) {
    case task_kind::launch: text = launch_of(task); break;
    case task_kind::memory_op: text = text_with_size(held_in<detail::memory_command>(one)); break;
    case task_kind::callable: text = "a callable"; break;
    case task_kind::event_wait: text = "a wait for an event"; break;
    case task_kind::bulk_end: text = "a bulk"; break;
    case task_kind::host: text = "a host task"; break;
    case task_kind::chunk: {
      std::size_t const first = tasks_.side(task).index_in_bulk;
      text = launch_of(task) + ", items " + std::to_string(first) + " to " +
             std::to_string(first + items_of(one) - 1) + " of a bulk";
      break;
    }
    case task_kind::recorded: {
      // The task may end during this call, so its recorded part may already be gone.
      auto const part = parts_.get(held_in<replayed_part>(one).part);
      text = part == nullptr ? "a replay" : part->describe();
    }
  }
  return text;
}

std::vector<std::string> task_text::launched_after(std::chrono::steady_clock::time_point when,
                                                   unsigned device) const {
  std::vector<std::string> found;
  for (std::size_t i = builtin_index::count; i < kernels_.kernels.size(); ++i) {
    kernel_entry const& kernel = kernels_.kernels[i];
    bool const is_found =
        kernel.launched != nullptr &&
        kernel.launched[device].load(std::memory_order_relaxed) > when.time_since_epoch().count();
    if (is_found) { found.push_back("kernel '" + kernel.name + "'"); }
  }
  for (auto const& part : parts_.launched_after(when, device)) {
    found.push_back(part->describe());
  }
  return found;
}

std::string task_text::end_of(slot_address task, std::string const& subject) const {
  std::string const label = label_of(task);
  return (label.empty() ? "" : ", label '" + label + "'") + ", " + subject;
}

}  // namespace flotilla::dispatch
