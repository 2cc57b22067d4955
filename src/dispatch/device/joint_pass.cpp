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
// How often a pass looks for new tasks: alone, and with guests, in smaller portions.
constexpr int max_rounds = 8;
constexpr int max_joint_rounds = 64;
// How long a joint pass is remembered.
constexpr std::chrono::milliseconds max_memory{1};

}  // namespace

struct joint_pass::guest_leases {
  std::vector<std::optional<device_set::lease_guard>> by_device;
};

joint_pass::joint_pass(device_set const& devices, std::size_t count, device_driver& host)
    : devices_(devices),
      host_(host),
      waves_(count),
      leases_(std::make_unique<guest_leases>(
          std::vector<std::optional<device_set::lease_guard>>(count))),
      members_{&host} {
  members_.reserve(count);
}

joint_pass::~joint_pass() = default;

joint_pass::drain::drain(joint_pass& of) : of_(of) {
  of.scope_.emplace(of.host_.gate());
  of.current_ = &of.host_;
  of.has_waited_ = of.must_yield_ = false;
  of.may_join_ = true;
}

joint_pass::drain::~drain() {
  of_.scope_.reset();
  of_.current_ = nullptr;
  of_.leave();
}

bool joint_pass::make_current(device_driver& member) {
  if (current_ == &member) { return true; }
  scope_.reset();
  current_ = nullptr;
  try {
    scope_.emplace(member.gate());
  } catch (driver_error const&) { return false; }
  current_ = &member;
  return true;
}

void joint_pass::return_to_host() {
  if (current_ == &host_) { return; }
  if (make_current(host_)) { return; }
  give_up();  // the drain of each member will find out why
  scope_.emplace(host_.gate());
  current_ = &host_;
}

std::optional<context::lease> joint_pass::take(device_driver& other) {
  std::optional<context::lease> lease = other.gate().try_take();
  if (lease || other.callable_since() != 0) { return lease; }
  if (other.index() < host_.index()) {
    bool const has_other_work = !host_.callables_.empty() || !host_.staged_.empty();
    must_yield_ = must_yield_ || (!has_other_work && other.joint_.has_followed(host_.index()));
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
  // relaxed: to other threads, both are only hints
  followed_.store(now | followed_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  last_followed_.store(clock::now(), std::memory_order_relaxed);
}

bool joint_pass::has_followed(unsigned device) const noexcept {
  return device < 64 && (followed_.load(std::memory_order_relaxed) >> device & 1) != 0 &&
         clock::now() - last_followed_.load(std::memory_order_relaxed) < max_memory;
}

void joint_pass::invite() {
  bool const is_poisoned = host_.parts_.shared.faults.is_poisoned();
  if (is_poisoned || followed_.load(std::memory_order_relaxed) == 0) { return leave(); }
  // A kernel may be stuck. The work of the other devices must not wait for it.
  if (clock::now() - last_followed_.load(std::memory_order_relaxed) > max_memory) {
    followed_.store(0, std::memory_order_relaxed);
    return leave();
  }
  if (!has_guests()) { join(); }
  if (!has_guests()) { return; }
  bool has_room = true;
  bool any_ended = false;
  for (device_driver* const member : members_) {
    any_ended = member->end_completed() || any_ended;
    has_room = has_room && member->batch_lanes_.have_room_behind();
  }
  for (device_driver* const member : members_) { member->batch_lanes_.take_joint(has_room); }
  // Without room, nothing that follows other devices starts in this pass.
  if (!has_room && any_ended) { last_followed_.store(clock::now(), std::memory_order_relaxed); }
}

bool joint_pass::join() {
  std::uint64_t wanted = followed_.load(std::memory_order_relaxed);
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

void joint_pass::settle() {
  auto const has_followers = [](device_driver* each) {
    return !each->wave_flusher_.alone().empty() || !each->batches_.runnable().empty();
  };
  while (true) {
    auto const found = std::ranges::find_if(members_, has_followers);
    if (found == members_.end()) { return; }
    if (!make_current(**found)) { return give_up(); }
    (*found)->starter_.start_followers();
  }
}

void joint_pass::flush_wave(unsigned wave) {
  for (device_driver* const member : members_) { member->wave_flusher_.prepare_wave(wave); }
  for (device_driver* const member : members_) {
    if (member->waves_.lanes(wave) == 0) { continue; }
    if (!make_current(*member)) { return give_up(); }
    if (auto const after = member->wave_flusher_.flush_wave(wave)) {
      abandon_waves_after(*after, member->index());
    }
  }
}

void joint_pass::flush_before(unsigned wave, unsigned caller) {
  for (unsigned each = 0; each < wave && !has_given_up_; ++each) { flush_wave(each); }
  if (!make_current(devices_[caller])) { give_up(); }
}

void joint_pass::abandon_waves_after(unsigned wave, unsigned caller) {
  for (device_driver* const member : members_) {
    if (member->index() != caller) { member->wave_flusher_.abandon_waves_after(wave); }
  }
}

void joint_pass::flush_all() {
  if (!has_guests()) { return host_.starter_.flush_all(); }
  auto const for_each_member = [&](auto const& action) {
    for (device_driver* const member : members_) {
      if (!make_current(*member)) { return give_up(); }
      action(*member);
    }
  };
  for_each_member([](device_driver& each) { each.starter_.flush_urgent(); });
  auto const is_open = [](device_driver const* each) { return each->waves_.lanes() != 0; };
  bool more = false;
  do {
    do {
      for (unsigned wave = 0; wave < open_waves::max_waves; ++wave) { flush_wave(wave); }
      settle();
    } while (std::ranges::any_of(members_, is_open));
    more = false;
    for_each_member([&](device_driver& each) { more = each.starter_.start_behind_open() || more; });
  } while (more);
  for_each_member([](device_driver& each) { each.engine_batches_.flush_all(); });
  return_to_host();
}

void joint_pass::end() {
  bool must_leave = has_given_up_;
  for (device_driver* const guest : guests()) {
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
  if (scope_ && current_ != &host_) { return_to_host(); }
  introduce(false);
  for (device_driver* const guest : guests()) {
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
  return std::ranges::any_of(
      guests(), [](device_driver const* guest) { return guest->inbound().is_announced(); });
}

}  // namespace flotilla::dispatch
