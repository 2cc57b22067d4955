// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/submission/slot_taker.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include <flotilla/error/error.hpp>

#include "base/pause.hpp"
#include "dispatch/task/callable_frame.hpp"

namespace flotilla::dispatch {

namespace {
// `try_submit` must return quickly. So it runs only callables that some thread waits for.
constexpr helper_filter no_callables{0xffff'ffff};

std::optional<unsigned> device_of(place const& place) noexcept {
  return place.inbound == nullptr ? std::nullopt : std::optional{place.index};
}

constexpr char const* wait_text = "a submit that waits because the window is full";

}  // namespace

/// A wait for a free slot of one window.
class slot_taker::window_wait {
 public:
  window_wait(slot_taker const& taker, place const& from, inbox& inbox)
      : taker_(taker),
        pool_(from.slots),
        inbox_(inbox),
        first_device_(device_of(from)),
        policy_(policies().resolved(policies().of_task(from.device()))),
        // A full window empties slowly. Sleep for about the time in which many slots become free.
        // Polling would take processor time from the thread that drains the device.
        sleep_(std::chrono::nanoseconds{4} * pool_.window()),
        seen_(pool_.returns()) {}

  [[nodiscard]] bool done() noexcept {
    if (slot_ != no_slot) { return true; }
    if (!has_returns()) { return false; }
    seen_ = pool_.returns();
    slot_ = pool_.take(inbox_.slots());
    return slot_ != no_slot;
  }
  bool help(backoff& state) {
    taker_.usage_.check_usable();
    bool const moved = taker_.waiter_.with().devices.help(state.filter(), first_device_,
                                                          [this] { return has_returns(); });
    // Poll only the counter that changes when slots come back. Polling the words of the blocks
    // would slow down the threads that give slots back, because those threads write these words.
    for (int i = 0; i < 8 && policy_ != wait_policy::blocking && !has_returns(); ++i) {
      for (int k = 0; k < 16; ++k) { base::pause(); }
    }
    return moved;
  }
  [[nodiscard]] bool runs_continuations() const noexcept { return taker_.runs_continuations(); }
  void idle(backoff& state, waiter::deadline) {
    slot_ = pool_.take_any();  // also from blocks that other threads hold
    if (slot_ != no_slot) { return; }
    bool const is_large = sleep_ > std::chrono::microseconds{20};
    if (is_large && policy_ != wait_policy::blocking) {
      std::this_thread::sleep_for(sleep_);
    } else {
      policies().idle(policy_, state.next_round());
    }
  }
  [[nodiscard]] slow_waits::wait& age() noexcept { return age_; }
  [[nodiscard]] slot_address slot() const noexcept { return slot_; }

 private:
  [[nodiscard]] policy_table const& policies() const noexcept {
    return taker_.waiter_.with().policies;
  }
  [[nodiscard]] bool has_returns() const noexcept { return pool_.returns() != seen_; }

  slot_taker const& taker_;
  slot_pool& pool_;
  inbox& inbox_;
  std::optional<unsigned> const first_device_;
  wait_policy const policy_;
  std::chrono::nanoseconds const sleep_;
  std::uint32_t seen_;  // last seen value of slot_pool::returns
  slot_address slot_ = no_slot;
  slow_waits::wait age_{.what = wait_text, .begun = {}};
};

/// A wait for a free slot in each of several windows.
class slot_taker::all_windows_wait {
 public:
  all_windows_wait(slot_taker const& taker, std::span<unsigned const> devices, priority_level level,
                   std::span<slot_address> slots) noexcept
      : taker_(taker), devices_(devices), level_(level), slots_(slots) {
    std::fill(slots_.begin(), slots_.end(), no_slot);
  }

  [[nodiscard]] bool done() {
    if (complete_) { return true; }
    try {
      complete_ = take_each();
    } catch (...) {
      taker_.give_back(slots_);
      throw;
    }
    // Hold no slots while waiting: another thread may hold the missing slots and wait for the slots
    // of this thread.
    if (!complete_) {
      taker_.give_back(slots_);
      std::fill(slots_.begin(), slots_.end(), no_slot);
      // Read the counter after the slots were given back. Otherwise `help` would mistake the slots
      // that this thread gave back for slots of ended tasks.
      seen_ = scarce().slots.returns();
    }
    return complete_;
  }
  bool help(backoff& state) const {
    taker_.usage_.check_usable();
    if (taker_.inside_callable()) { taker_.refuse_full(scarce()); }
    return taker_.waiter_.with().devices.help(state.filter(), scarce_,
                                              [this] { return scarce().slots.returns() != seen_; });
  }
  [[nodiscard]] bool runs_continuations() const noexcept { return taker_.runs_continuations(); }
  void idle(backoff& state, waiter::deadline) const {
    policy_table const& policies = taker_.waiter_.with().policies;
    policies.idle(policies.resolved(policies.of_task(scarce().device())), state.next_round());
  }
  [[nodiscard]] slow_waits::wait& age() noexcept { return age_; }

 private:
  [[nodiscard]] bool take_each() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      scarce_ = devices_[i];
      slots_[i] = take(scarce());
      if (slots_[i] == no_slot) { return false; }
    }
    return true;
  }
  [[nodiscard]] slot_address take(place const& from) const {
    slot_address const slot = from.slots.take(taker_.places_.inbox_to(from, level_).slots());
    return slot != no_slot ? slot : from.slots.take_any();
  }
  [[nodiscard]] place const& scarce() const noexcept { return taker_.places_[scarce_]; }

  slot_taker const& taker_;
  std::span<unsigned const> const devices_;
  priority_level const level_;
  std::span<slot_address> const slots_;
  unsigned scarce_ = 0;     // the device whose window is full
  std::uint32_t seen_ = 0;  // last seen value of that device's slot_pool::returns
  slow_waits::wait age_{.what = wait_text, .begun = {}};
  bool complete_ = false;
};

bool slot_taker::runs_continuations() const noexcept {
  return waiter_.with().shared.single_threaded && !inside_callable();
}

bool slot_taker::inside_callable() const noexcept {
  return callable_frame::innermost(waiter_.with().shared.id) != nullptr;
}

void slot_taker::refuse_full(place const& full) const {
  throw window_full(
      (full.inbound == nullptr ? std::string{"the window of tasks for any device"}
                               : "the window of device " + std::to_string(full.index)) +
      " is full: " + std::to_string(full.slots.window()) +
      " tasks are open, and a callable or host task must not wait for them; set a larger window");
}

slot_address slot_taker::take_from_full(place const& from, inbox& inbox, when_full if_full) const {
  slot_pool& pool = from.slots;
  if (slot_address const slot = pool.take_any(); slot != no_slot) { return slot; }
  if (if_full == when_full::give_up) { return no_slot; }
  bool const is_inside = inside_callable();
  if (if_full == when_full::collect) {
    // Tasks that have completed keep their slots until a thread drains their device. So drain
    // first.
    if (!is_inside) {
      std::uint32_t const seen = pool.returns();
      static_cast<void>(waiter_.with().devices.help(no_callables, device_of(from),
                                                    [&] { return pool.returns() != seen; }));
    }
    return pool.take_any();
  }
  if (is_inside) { refuse_full(from); }
  window_wait wait{*this, from, inbox};
  waiter_.until(wait);
  return wait.slot();
}

slot_address slot_taker::take_for_host_task() const {
  place const& from = places_.shared();
  inbox& inbox = places_.inbox_to(from, 0);
  if (!waiter_.with().continuations.inside()) { return take(from, inbox, when_full::wait); }
  slot_address const slot = take(from, inbox, when_full::collect);
  if (slot == no_slot) { refuse_full(from); }
  return slot;
}

void slot_taker::take_all(std::span<unsigned const> devices, priority_level level,
                          std::span<slot_address> slots) const {
  all_windows_wait wait{*this, devices, level, slots};
  waiter_.until(wait);
}

bool slot_taker::try_take_all(std::span<unsigned const> devices, priority_level level,
                              std::span<slot_address> slots) const {
  return all_windows_wait{*this, devices, level, slots}.done();
}

void slot_taker::give_back(std::span<slot_address const> slots) const noexcept {
  for (slot_address const slot : slots) {
    if (slot != no_slot) { places_[slot >> 16].slots.give_back(slot); }
  }
}

}  // namespace flotilla::dispatch
