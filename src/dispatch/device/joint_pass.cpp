// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/joint_pass.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <flotilla/error/error.hpp>

#include "dispatch/device/device_driver.hpp"
#include "dispatch/device/device_set.hpp"

namespace flotilla::dispatch {

namespace {

// How long a thread waits for the lease of a guest. A pass takes less.
constexpr std::chrono::microseconds max_wait_for_lease{100};
// How long a thread that gets no lease leaves the devices to others, before it drives one alone.
constexpr std::chrono::microseconds max_time_of_yields{500};
// How often a pass looks for new tasks: alone, and with guests, in smaller portions.
constexpr int max_rounds = 8;
constexpr int max_joint_rounds = 64;
// How long members without room wait for the end of a batch. A kernel may be stuck, and the work of
// the other devices must not wait for it.
constexpr std::chrono::milliseconds max_time_without_room{1};

std::span<device_driver* const> guests_of(std::span<device_driver* const> members) noexcept {
  return members.subspan(1);
}

/// Whether a device has work for which its thread must not leave it to another one: work that only
/// the thread does that drains the device, and urgent tasks.
bool must_keep(callable_runner const& callables, staged_copies const& staged, intake& tasks) {
  return !callables.empty() || !staged.empty() || tasks.has_more_urgent(0);
}

}  // namespace

struct joint_pass::guest_leases {
  std::vector<std::optional<device_set::lease_guard>> by_device;
};

joint_pass::joint_pass(device_set const& devices, std::size_t count,
                       context::peer_table const& peers, device_driver& host)
    : devices_(devices),
      host_(host),
      waves_(count),
      run_(count, host.index(), peers),
      leases_(std::make_unique<guest_leases>(
          std::vector<std::optional<device_set::lease_guard>>(count))),
      members_{&host} {
  members_.reserve(count);
  flushers_.reserve(count);
}

joint_pass::~joint_pass() = default;

joint_pass::drain::drain(joint_pass& of) : of_(of) {
  of.current_.set(of.host_.gate());
  of.has_waited_ = of.must_yield_ = false;
  of.may_join_ = true;
}

joint_pass::drain::~drain() {
  of_.current_.clear();
  of_.leave();
}

bool joint_pass::make_current(device_driver const& member) {
  return current_.try_set(member.gate());
}

void joint_pass::return_to_host() {
  if (make_current(host_)) { return; }
  give_up();  // the drain of each member will find out why
  current_.set(host_.gate());
}

std::optional<context::lease> joint_pass::take(device_driver& other) {
  std::optional<context::lease> lease = other.gate().try_take();
  if (lease || other.callable_since() != 0) { return lease; }
  was_refused_ = true;
  if (other.index() < host_.index()) {
    bool const will_drive_host = other.joint_.memory_.has(host_.index());
    must_yield_ = must_yield_ ||
                  (will_drive_host && !must_keep(host_.callables_, host_.staged_, host_.intake_));
    return std::nullopt;
  }
  if (std::exchange(has_waited_, true)) { return std::nullopt; }
  // Only for devices with a greater index, so no two threads wait for each other.
  return other.gate().take_until(clock::now() + max_wait_for_lease);
}

void joint_pass::note_followed() {
  std::uint64_t now = 0;
  for (device_driver* const member : members_) { now |= member->before_.take_followed(); }
  if (now == 0) { return; }
  // Another thread may be the next to drive these devices, and begin with another one.
  for (device_driver* const member : members_) {
    if (member->index() < 64) { now |= std::uint64_t{1} << member->index(); }
  }
  for (device_driver* const member : members_) { member->joint_.memory_.remember(now); }
}

void joint_pass::invite() {
  if (host_.parts_.shared.faults.is_poisoned() || memory_.devices() == 0) {
    refused_since_.reset();
    return leave();
  }
  was_refused_ = false;
  if (!has_guests()) { join(); }
  if (has_guests()) {
    refused_since_.reset();
    return note_room();
  }
  if (!was_refused_) { return; }
  // Another thread has the lease of a guest. It gives the lease back soon, or drives this device
  // too. If each thread drove its device alone, steps would be divided.
  auto const now = clock::now();
  if (!refused_since_) { refused_since_ = now; }
  bool const may_yield = now - *refused_since_ < max_time_of_yields &&
                         !must_keep(host_.callables_, host_.staged_, host_.intake_);
  must_yield_ = must_yield_ || may_yield;
}

void joint_pass::note_room() {
  bool has_room = true;
  bool any_ended = false;
  for (device_driver* const member : members_) {
    member->end_completed();
    any_ended = any_ended || member->batch_lanes_.last_end_behind() > room_since_;
    has_room = has_room && member->batch_lanes_.have_room_behind();
  }
  // Without room, nothing that follows other devices starts in this pass.
  for (device_driver* const member : members_) { member->batch_lanes_.take_joint(has_room); }
  auto const now = clock::now();
  if (has_room || any_ended) {
    room_since_ = now;
    // While nothing starts, nothing follows other devices.
    for (device_driver* const member : members_) {
      if (!has_room) { member->joint_.memory_.remember(0); }
    }
  } else if (now - room_since_ > max_time_without_room) {
    for (device_driver* const member : members_) { member->joint_.memory_.forget(); }
    leave();
  }
}

bool joint_pass::join() {
  std::uint64_t wanted = memory_.devices();
  if (wanted == 0 || !may_join_) { return false; }
  std::size_t const before = members_.size();
  for (; wanted != 0; wanted &= wanted - 1) {
    auto const index = static_cast<unsigned>(std::countr_zero(wanted));
    device_driver& other = devices_[index];
    bool const is_usable = other.gate().retired() == CUDA_SUCCESS && !other.containment_.is_due() &&
                           !other.containment_.is_quarantined() &&
                           !host_.parts_.shared.lost.must_wait_on_host(host_.index(), index);
    if (&other == &host_ || waves_.contains(index) || !is_usable) { continue; }
    std::optional<context::lease> lease = take(other);
    if (!lease) { continue; }
    leases_->by_device[index].emplace(devices_, other, std::move(*lease));
    members_.push_back(&other);
  }
  if (members_.size() == before) { return false; }
  introduce(true);
  // Tasks that are parked on tasks of open batches were not wanted before.
  for (device_driver* const member : members_) { member->batches_.resume_followers(); }
  return true;
}

void joint_pass::introduce(bool joint) {
  for (device_driver* const member : members_) {
    waves_.add(member->index(), {&member->waves_, &member->batches_.runnable()});
  }
  for (device_driver* const member : members_) {
    member->batches_.drive_with(joint ? &waves_ : nullptr);
    member->before_.drive_with(joint ? &waves_ : nullptr);
    member->wave_flusher_.drive_with(joint ? this : nullptr, &waves_);
  }
}

bool joint_pass::begin() {
  may_run_together_ = true;
  bool const moved = begin_from(1);
  return_to_host();
  return moved;
}

bool joint_pass::begin_from(std::size_t first) {
  bool moved = false;
  for (std::size_t i = first; i < members_.size() && !has_given_up_; ++i) {
    if (!make_current(*members_[i])) {
      give_up();
      break;
    }
    moved = members_[i]->begin_pass() || moved;
  }
  return moved;
}

bool joint_pass::take_more() {
  bool moved = false;
  for (int i = 0; i < (has_guests() ? max_joint_rounds : max_rounds) && !has_given_up_; ++i) {
    note_followed();
    std::size_t const before = members_.size();
    bool took = join();
    begin_from(before);
    settle();
    if (has_given_up_) { break; }
    for (device_driver* const member : members_) {
      // Alone, a device launches what it has, and looks only for tasks that can share the launch.
      bool const joint = has_guests();
      bool const has_open = member->waves_.lanes() != 0 || !member->engine_batches_.empty();
      if (member->waves_.fill_a_run() || !(joint || has_open)) { continue; }
      if (!make_current(*member)) {
        give_up();
        break;
      }
      took = (joint ? member->intake_.take_in_turn() : member->intake_.take_inboxes()) || took;
    }
    if (!took) { break; }
    moved = true;
  }
  settle();
  return_to_host();
  if (has_given_up_) { leave(); }
  return moved;
}

void joint_pass::end() {
  bool must_leave = has_given_up_;
  for (device_driver* const guest : guests_of(members_)) {
    guest->end_pass();
    // Only the thread that drains a device runs its callables and its copies of pageable memory.
    bool const has_other_work = !guest->callables_.empty() || !guest->staged_.empty();
    must_leave = must_leave || guest->gate().wanted() || has_other_work;
  }
  if (must_leave) {
    may_join_ = false;
    leave();
  }
}

void joint_pass::leave() {
  if (!has_guests()) { return; }
  if (current_.any()) { return_to_host(); }
  introduce(false);
  for (device_driver* const guest : guests_of(members_)) {
    guest->end_pass();
    if (has_given_up_) { guest->inbound().set_backlog(true); }
    waves_.remove(guest->index());
    leases_->by_device[guest->index()].reset();
  }
  members_.resize(1);
  has_given_up_ = false;
}

void joint_pass::give_up() {
  has_given_up_ = true;
  may_join_ = false;
  introduce(false);
  for (device_driver* const member : members_) { member->starter_.give_up_open(); }
}

bool joint_pass::is_announced() const noexcept {
  return std::ranges::any_of(guests_of(members_), [](device_driver const* guest) {
    return guest->inbound().is_announced();
  });
}

}  // namespace flotilla::dispatch
