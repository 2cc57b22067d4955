// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/fault/kernel_describer.hpp"

#include <algorithm>

namespace flotilla::dispatch {

namespace {

constexpr unsigned max_shown_labels = 3;

}  // namespace

bool kernel_describer::may_run(slot_address task, std::string_view kernel, unsigned device,
                               bool is_oldest) const noexcept {
  slot& one = parts_.tasks.at(task);
  bool const is_kernel = one.kind == task_kind::launch || one.kind == task_kind::chunk;
  if (!is_kernel && one.kind != task_kind::recorded) { return false; }
  if (is_kernel && parts_.kernels.kernels[one.kernel].name != kernel) { return false; }
  end_mark const mark{one.end.load(std::memory_order_acquire)};
  if (!mark.valid()) {
    // The kernel may run before the thread that launches it has stored the mark.
    return one.starting.load(std::memory_order_relaxed) &&
           one.device.load(std::memory_order_relaxed) == device + 1;
  }
  if (mark.device() != device) { return false; }
  // Not `reached`, which may call the driver.
  std::uint64_t const ended = parts_.board.number(mark);
  return ended < mark.number() && (!is_oldest || ended + 1 == mark.number());
}

bool kernel_describer::add_tasks(std::string_view kernel, unsigned device, bool is_oldest,
                                 base::fault_line& line) const noexcept {
  unsigned labels = 0;
  bool is_found = false;
  parts_.tasks.for_each_open([&](slot_address task) {
    if (!may_run(task, kernel, device, is_oldest)) { return true; }
    is_found = true;
    if (!parts_.tasks.at(task).labelled) { return true; }
    line.add(labels++ == 0 ? "label '" : " or '");
    line.add(parts_.tasks.side(task).label.data()).add("'");
    return labels < max_shown_labels;
  });
  if (is_found) { line.add(labels == 0 ? "device " : ", device ").add(device); }
  return is_found;
}

bool kernel_describer::describe(std::string_view kernel, int device,
                                base::fault_line& line) const noexcept {
  return std::any_of(parts_.infos.begin(), parts_.infos.end(), [&](auto const& info) {
    return info.kind == device_kind::cpu && info.driver_ordinal == device &&
           (add_tasks(kernel, info.ordinal.value, true, line) ||
            add_tasks(kernel, info.ordinal.value, false, line));
  });
}

}  // namespace flotilla::dispatch
