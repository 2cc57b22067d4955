// A recording: tasks are added, become parts, and each replay submits every part as a task.
#include "dispatch/recorder.hpp"

#include <array>
#include <memory_resource>
#include <string>
#include <utility>

#include <flotilla/error.hpp>

namespace flotilla::dispatch {

namespace {
constexpr std::size_t about_a_graph = std::size_t{1} << 20;  // bytes, of the device's memory and the host's

std::uint64_t next_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}
}  // namespace

recorder::recorder(core& owner) : core_(owner), id_(next_id()) { core_.check_process(); }

recorder::~recorder() { give_up(parts_); }

void recorder::give_up(std::vector<part> const& parts) noexcept {
  for (part const& each : parts) { core_.release(limbo::kinds::recorded, each.device, each.index, about_a_graph); }
}

std::uint32_t recorder::checked(recorded_task which, char const* where) const {
  if (which.recording_ != id_) {
    throw invalid_argument(std::string{"a recorded_task "} + where +
                           (which.recording_ == 0 ? " names no task" : " is of another recording"));
  }
  return which.index_;
}

unsigned recorder::check(launch const& what, std::optional<device_ordinal> device) const {
  core_.check_task(what, device);
  return device.value_or(what.device().value_or(device_ordinal{0})).value;
}

unsigned recorder::check(transfer const& what, std::optional<device_ordinal> device) const {
  core_.check_task(what, device);
  bool const host_side = what.kind == transfer::kinds::host_to_device || what.kind == transfer::kinds::device_to_host;
  if (host_side && !what.pinned) {
    throw invalid_argument("a copy from or to pageable memory cannot be recorded: it goes through pieces of pinned memory");
  }
  if (what.kind == transfer::kinds::device_to_device && what.device != what.from_device) {
    throw invalid_argument("a copy from device " + std::to_string(what.from_device.value) + " to device " +
                           std::to_string(what.device.value) + " cannot be recorded: a graph is of one device");
  }
  if (what.bytes == 0) { throw invalid_argument("a copy or fill of nothing cannot be recorded"); }
  return what.device.value;
}

recorded_task recorder::add(recorded_action what, recorded_options const& options) {
  core_.check_process();
  task_to_plan made{.device = std::visit([&](auto const& action) { return check(action, options.device); }, what)};
  if (finished_.load(std::memory_order_acquire)) {
    auto const* const asked = std::get_if<launch>(&what);
    throw invalid_argument(
      "the recording is finished: " +
      (asked == nullptr ? "a copy or fill" : "kernel '" + core_.table.kernels[asked->kernel_index()].name + "'") +
      " cannot be added");
  }
  for (recorded_task const each : options.after) { made.after.push_back(checked(each, "in `after`")); }
  actions_.push_back(std::move(what));
  try {
    tasks_.push_back(std::move(made));
  } catch (...) {
    actions_.pop_back();
    throw;
  }
  recorded_task added;
  added.recording_ = id_;
  added.index_ = static_cast<std::uint32_t>(tasks_.size() - 1);
  return added;
}

template <class Action>
void recorder::set(recorded_task which, Action const& what) {
  core_.check_process();
  std::uint32_t const task = checked(which, "to be set");
  static_cast<void>(check(what, device_ordinal{tasks_[task].device}));
  auto* const held = std::get_if<Action>(&actions_[task]);
  bool same = held != nullptr;
  if constexpr (std::is_same_v<Action, transfer>) { same = same && held->kind == what.kind; }
  if (!same) {
    throw invalid_argument("task " + std::to_string(task) + " of the recording stays of its kind: a launch, a fill, or a "
                           "copy from, to or within its device");
  }
  if (!finished_.load(std::memory_order_acquire)) {  // pairs with the release in finish
    *held = what;
    return;
  }
  std::lock_guard const lock{replaying_};
  recording_plan::place const place = places_[task];
  part& of = parts_[place.part];
  if (of.changes == change_lists::none) {
    of.changes = of.built->lists.take();
    of.changing = &of.built->lists.at(of.changes);
  }
  of.changing->put(place.node, what);
}

template void recorder::set(recorded_task which, launch const& what);
template void recorder::set(recorded_task which, transfer const& what);

void recorder::finish() {
  core_.check_process();
  if (finished_.load(std::memory_order_acquire)) { return; }  // pairs with the release below
  std::unique_lock lock{building_, std::defer_lock};
  if (callable_frame::innermost(core_) == nullptr) {
    lock.lock();
  } else if (!lock.try_lock()) {
    // Who builds may be waiting for the lease that this callable runs under.
    throw would_deadlock("a recording is finished inside a callable, while another thread is at it");
  }
  if (finished_.load(std::memory_order_relaxed)) { return; }
  core_.check_usable();
  if (tasks_.empty()) { throw invalid_argument("the recording holds no task"); }
  recording_plan plan = plan_recording(tasks_);
  check_windows(plan);
  std::vector<unsigned> devices;
  for (planned_part const& each : plan.parts) { devices.push_back(each.device); }
  parts_ = build(plan);
  places_ = std::move(plan.places);
  devices_ = std::move(devices);
  finished_.store(true, std::memory_order_release);
}

void recorder::check_windows(recording_plan const& plan) const {
  std::vector<std::size_t> of_device(core_.devices().size(), 0);
  for (planned_part const& each : plan.parts) {
    std::size_t const window = core_.queue(each.device).pool.window();
    if (++of_device[each.device] > window) {
      throw invalid_argument("the recording needs more graphs on device " + std::to_string(each.device) +
                             " than its window has slots: " + std::to_string(window));
    }
  }
}

std::vector<recorder::part> recorder::build(recording_plan const& plan) {
  std::vector<part> made;
  made.reserve(plan.parts.size());
  try {
    for (planned_part const& each : plan.parts) {
      part one{.device = each.device, .parts_ahead = each.parts_ahead};
      core_.control(each.device, [&](device_queue& queue) { one.built = queue.build(each, actions_); });
      one.index = core_.parts.add(one.built);
      made.push_back(std::move(one));
    }
  } catch (...) {
    give_up(made);
    throw;
  }
  return made;
}

ticket recorder::replay(replay_options const& options) {
  core_.check_usable();
  core_.check_after(options.after, 0xffff - 2);  // a slot's count, and two of its own
  finish();
  // So many parts that both lie on the stack are more than most recordings have.
  std::array<std::byte, 2048> room;
  std::pmr::monotonic_buffer_resource memory{room.data(), room.size()};
  std::pmr::vector<slot_address> slots(parts_.size(), no_slot, &memory);
  std::pmr::vector<ticket> tickets(parts_.size(), &memory);
  std::pmr::vector<task_id> ids(parts_.size(), &memory);
  // Before the lock: it may take long, and run callables that replay this very recording.
  core_.take_slots(devices_, urgency_of(options.priority), slots);
  std::lock_guard const lock{replaying_};
  try {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      ids[i] = core_.id_when_open(slots[i]);
      fill(slots[i], i, options, ids);
    }
  } catch (...) {
    core_.give_back(slots);
    throw;
  }
  // Nothing below throws. All are open before any can end: what one leaves behind is kept for those behind it.
  for (std::size_t i = 0; i < slots.size(); ++i) {
    core_.open_in(slots[i], devices_[i], tickets[i]);
    parts_[i].previous = ids[i];
    parts_[i].changes = change_lists::none;
  }
  for (std::size_t i = 0; i < slots.size(); ++i) { core_.publish_in(slots[i], devices_[i]); }
  return std::move(tickets.back());
}

void recorder::fill(slot_address slot, std::size_t number, replay_options const& options,
                    std::span<task_id const> now) {
  part const& of = parts_[number];
  task_options how{.label = options.label, .priority = options.priority};
  // Behind its last replay: a graph's changes are made in the order of the replays.
  if (of.previous.runtime != nullptr) { how.after.add(of.previous); }
  // And the whole of this replay behind the whole of the last.
  task_id const last = parts_.back().previous;
  if (of.parts_ahead.empty() && parts_.size() > 1 && last.runtime != nullptr) { how.after.add(last); }
  auto const order_only = static_cast<std::uint32_t>(how.after.size());
  for (std::uint32_t const ahead : of.parts_ahead) { how.after.add(now[ahead]); }
  if (of.parts_ahead.empty()) {
    for (std::size_t i = 0; i < options.after.size(); ++i) { how.after.add(options.after[i]); }
  }
  replayed_part const what{of.index, of.changes, order_only};
  core_.fill(slot, what, how);
}

}  // namespace flotilla::dispatch
