// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// How a joint_pass launches the open batches of all members.
#include <algorithm>

#include "dispatch/device/device_driver.hpp"
#include "dispatch/device/device_set.hpp"
#include "dispatch/device/joint_pass.hpp"

namespace flotilla::dispatch {

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

void joint_pass::launch_together(unsigned wave) {
  bool const any_open = std::ranges::any_of(
      members_, [wave](device_driver const* each) { return each->waves_.lanes(wave) != 0; });
  if (!may_run_together_ || !any_open) { return; }
  flushers_.clear();
  for (device_driver* const member : members_) { flushers_.push_back(&member->wave_flusher_); }
  bool lost_context = false;
  auto const made = run_.launch(wave, flushers_, [&](unsigned device) {
    lost_context = lost_context || !make_current(devices_[device]);
    return !lost_context;
  });
  if (made == joint_run::outcome::refused) {
    may_run_together_ = false;
    for (device_driver* const member : members_) {
      member->wave_flusher_.abandon_waves_after(wave);
    }
  }
  if (lost_context) { give_up(); }
}

void joint_pass::flush_wave(unsigned wave) {
  launch_together(wave);
  if (has_given_up_) { return; }
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

}  // namespace flotilla::dispatch
