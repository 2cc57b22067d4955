// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The recorder: collects tasks and builds the graphs of their parts.
#include "dispatch/submission/recorder.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <flotilla/error/error.hpp>

#include "base/access.hpp"
#include "dispatch/task/callable_frame.hpp"

namespace flotilla::dispatch {

namespace {
// The approximate memory of one graph, on the device and the host together.
constexpr std::size_t bytes_of_graph = std::size_t{1} << 20;

std::uint64_t next_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}
}  // namespace

recorder::recorder(config const& with)
    : with_(with), runtime_(with.shared.id), number_(next_number()) {
  with_.usage.check_process();
}

recorder::~recorder() {
  // After forget_graphs, nothing of the runtime may be touched.
  if (!parts_.empty()) { retire(parts_); }
}

void recorder::retire(std::vector<part> const& parts) noexcept {
  if (with_.usage.is_forked()) { return; }
  for (part const& each : parts) {
    with_.devices.retire({.kind = epoch_reclaimer::kinds::recorded,
                          .device = each.device,
                          .address = each.index,
                          .bytes = bytes_of_graph});
  }
}

void recorder::refuse(task_id task, std::string const& subject) const {
  if (task.runtime == 0) {
    throw invalid_argument(subject +
                           " names no task; pass a recorded_task that `add` has returned");
  }
  if (!detail::access::is_recorded(task)) {
    throw invalid_argument(
        subject +
        " names a submitted task, but a recorded task can depend only on tasks of "
        "its own recording; use replay_options::after");
  }
  throw invalid_argument(subject + " belongs to another recording; pass a task of this recording");
}

unsigned recorder::check(launch const& what, std::optional<device_ordinal> device) const {
  with_.valid.check(what, device);
  with_.valid.check_recordable(what);
  unsigned const on = device.value_or(what.device().value_or(device_ordinal{0})).value;
  if (with_.checks != nullptr) { with_.checks->check_arguments(what, {}, on); }
  return on;
}

unsigned recorder::check(detail::memory_command const& what,
                         std::optional<device_ordinal> device) const {
  with_.valid.check(what, device);
  bool const has_host_side =
      what.kind == memory_op_kind::host_to_device || what.kind == memory_op_kind::device_to_host;
  if (has_host_side && !what.pinned) {
    throw invalid_argument(
        "a copy from or to pageable memory cannot be recorded; use a host_buffer, whose memory is "
        "pinned");
  }
  bool const is_between_devices =
      what.kind == memory_op_kind::device_to_device && what.device != what.from_device;
  if (is_between_devices &&
      with_.shared.lost.must_wait_on_host(what.device.value, what.from_device.value)) {
    throw invalid_argument(
        "a copy from device " + std::to_string(what.from_device.value) + " to device " +
        std::to_string(what.device.value) +
        " cannot be recorded, because one of these devices is isolated: such copies go through the "
        "memory of the host");
  }
  if (what.bytes == 0) {
    throw invalid_argument(
        "a copy or fill of 0 bytes cannot be recorded; it must have at least 1 byte");
  }
  if (what.kind == memory_op_kind::fill && what.pattern_bytes != 1 && what.pattern_bytes != 2 &&
      what.pattern_bytes != 4) {
    throw invalid_argument(
        "a fill with a pattern of " + std::to_string(what.pattern_bytes) +
        " bytes cannot be recorded; the value must consist of a repeated pattern of 1, "
        "2 or 4 bytes");
  }
  return what.device.value;
}

template <class Action>
void recorder::refuse_late(Action const& what) const {
  std::string subject = "a copy or fill";
  if constexpr (std::is_same_v<Action, launch>) {
    subject =
        "kernel '" + with_.shared.kernels.kernels[detail::access::kernel_index(what)].name + "'";
  }
  throw invalid_argument("the recording was already finished by `finish` or a replay: " + subject +
                         " cannot be added any more");
}

template <class Action>
recorded_task recorder::add(Action const& what, recorded_options const& options) {
  with_.usage.check_process();
  unsigned const device = check(what, options.device);
  if (finished_.load(std::memory_order_acquire)) { refuse_late(what); }
  tasks_.drop();                         // what a call that threw has left
  std::vector<std::uint32_t> all_ahead;  // only for the check
  for (std::size_t i = 0; i < options.after.size(); ++i) {
    task_id const ahead = options.after[i];
    if (!holds(ahead)) { refuse(ahead, "entry " + std::to_string(i) + " of `after`"); }
    tasks_.add_ahead(ahead.slot);
    if (checks_order()) { all_ahead.push_back(ahead.slot); }
  }
  auto const task = static_cast<std::uint32_t>(tasks_.size());
  if (checks_order()) { order_.add(task, std::move(all_ahead), with_.checks->describe(what, {})); }
  actions_.put(task, what);  // if `add` throws, the next call overwrites this
  tasks_.add(device);
  return detail::access::make_recorded_task(number_, task);
}

template recorded_task recorder::add(launch const& what, recorded_options const& options);
template recorded_task recorder::add(detail::memory_command const& what,
                                     recorded_options const& options);

template <class Action>
void recorder::set(recorded_task which, Action const& what) {
  with_.usage.check_process();
  task_id const id = detail::access::id_of(which);
  if (!holds(id)) { refuse(id, "the recorded_task to be set"); }
  std::uint32_t const task = id.slot;
  static_cast<void>(check(what, device_ordinal{tasks_.device(task)}));
  bool same = true;
  change_list::change const& held = actions_.of(task);
  if constexpr (std::is_same_v<Action, launch>) {
    same = held.kernel != change_list::no_kernel;
  } else {
    // The driver cannot change the device of a node's memory.
    auto const command = change_list::command(held, actions_.arguments(held));
    same =
        command && command->kind == what.kind &&
        (what.kind != memory_op_kind::device_to_device || command->from_device == what.from_device);
  }
  if (!same) {
    throw invalid_argument(
        "task " + std::to_string(task) +
        " of the recording must keep its kind: a launch stays a launch, a fill "
        "stays a fill, and a copy keeps its direction and the device of its source");
  }
  if (!finished_.load(std::memory_order_acquire)) {  // pairs with the release in finish
    actions_.put(task, what);
    if (checks_order()) { order_.set(task, with_.checks->describe(what, {})); }
    return;
  }
  std::lock_guard const lock{replaying_};
  if (checks_order()) { order_.set(task, with_.checks->describe(what, {})); }
  recording_plan::place const place = places_[task];
  part& of = parts_[place.part];
  if (of.changes == change_lists::none) {
    of.changes = of.built->lists.take();
    of.changing = &of.built->lists.at(of.changes);
  }
  of.changing->put(place.index, what);
}

template void recorder::set(recorded_task which, launch const& what);
template void recorder::set(recorded_task which, detail::memory_command const& what);

void recorder::finish() {
  with_.usage.check_process();
  if (finished_.load(std::memory_order_acquire)) { return; }  // pairs with the release below
  std::unique_lock lock{building_, std::defer_lock};
  if (callable_frame::innermost(with_.shared.id) == nullptr) {
    lock.lock();
  } else if (!lock.try_lock()) {
    // Do not wait for the mutex: its holder may be waiting for the lease under which this callable
    // runs.
    throw would_deadlock(
        "a callable must not finish a recording that another thread is finishing; call `finish` "
        "before the callable is submitted");
  }
  if (finished_.load(std::memory_order_relaxed)) { return; }
  with_.usage.check_usable();
  if (tasks_.size() == 0) {
    throw invalid_argument("the recording has no task; it needs at least one");
  }
  order_.check();
  recording_plan plan = plan_recording(tasks_);
  std::vector<unsigned> devices;
  for (planned_part const& each : plan.parts) { devices.push_back(each.device); }
  parts_ = build(plan);
  places_ = std::move(plan.places);
  devices_ = std::move(devices);
  // release: pairs with the acquire in add, in set, and at the beginning of finish
  finished_.store(true, std::memory_order_release);
}

std::shared_ptr<replay_group> recorder::make_group(recording_plan const& plan) {
  if (plan.parts.size() == 1) { return nullptr; }
  std::vector<unsigned> devices;
  std::uint32_t levels = 1;
  for (planned_part const& each : plan.parts) {
    if (!each.parts_ahead.empty()) { continue; }  // the last part exchanges nothing
    devices.push_back(each.device);
    levels = std::max(levels, each.exchanges.back().level + 1);
  }
  // Only memory that this device registers is for all devices.
  unsigned const host = with_.shared.host_device;
  progress_words::row row;
  with_.operations.run(host, [&](device_driver& device) {
    row = with_.shared.progress->take(device.context(), host);
  });
  try {
    return std::make_shared<replay_group>(with_.shared.progress, row, std::move(devices), levels);
  } catch (...) {
    with_.shared.progress->give_back(row);
    throw;
  }
}

recorder::part recorder::build_part(planned_part const& planned,
                                    std::shared_ptr<replay_group> group,
                                    std::uint32_t number_in_group) {
  part one{.device = planned.device, .parts_ahead = planned.parts_ahead};
  recorded_parts& all = with_.shared.recordings;
  // First what needs host memory: a graph that is built must be in the table, where it is destroyed
  // while its context is current.
  epoch_reclaimer::room room{with_.shared.reclaimer};
  one.index = all.add();
  try {
    with_.operations.run(planned.device, [&](device_driver& device) {
      one.built = device.build(planned, actions_, std::move(group), number_in_group);
    });
  } catch (...) {
    static_cast<void>(all.take(one.index));
    throw;
  }
  all.set(one.index, one.built);
  room.keep();
  return one;
}

std::vector<recorder::part> recorder::build(recording_plan const& plan) {
  std::vector<part> made;
  made.reserve(plan.parts.size());
  std::shared_ptr<replay_group> const group = make_group(plan);
  try {
    for (std::uint32_t i = 0; i < plan.parts.size(); ++i) {
      bool const waits = plan.parts[i].parts_ahead.empty();
      made.push_back(build_part(plan.parts[i], waits ? group : nullptr, i));
    }
  } catch (...) {
    retire(made);
    throw;
  }
  return made;
}

}  // namespace flotilla::dispatch
