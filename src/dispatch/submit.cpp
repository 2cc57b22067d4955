// Submit: choose a device, take a slot, fill it, push its index, make sure that somebody drains.
#include <algorithm>
#include <thread>
#include <type_traits>

#include <flotilla/error.hpp>

#include "base/pause.hpp"
#include "dispatch/core.hpp"
#include "dispatch/lone_habit.hpp"
#include "dispatch/patience.hpp"
#include "dispatch/slot_filling.hpp"

namespace flotilla::dispatch {

namespace {

using base::pause;
constexpr std::uint32_t no_thread = 0xffff'ffff;

// What each kind of task says itself of where it goes.
std::optional<device_ordinal> required_by(launch const& what) noexcept { return what.device(); }
std::optional<device_ordinal> required_by(transfer const& what) noexcept { return what.device; }
std::optional<device_ordinal> required_by(work const&) noexcept { return std::nullopt; }

}  // namespace

inline core::destination core::destination_of(unsigned place) noexcept {
  if (place == devices_.size()) { return {place, nullptr, any_pool_, any_inboxes}; }
  device_queue& queue = *devices_[place];
  return {place, &queue, queue.pool, queue.inboxes};
}

inline unsigned core::place(task_options const& options, std::optional<device_ordinal> required) const {
  if (options.device) { return options.device->value; }
  if (required) { return required->value; }
  if (options_.placement != nullptr) {
    if (auto const chosen = options_.placement->place(devices(), options)) { return checked(*chosen); }
  }
  return devices_.size() == 1 ? 0u : static_cast<unsigned>(devices_.size());
}

inline inbox& core::inbox_to(destination const& to, urgency level) const {
  return thread_inboxes::get(id_, to.place, static_cast<unsigned>(devices_.size()) + 1, to.boxes, to.slots.window(), level);
}

inline slot_address core::take_slot(destination const& from, inbox& mine, bool may_wait) {
  slot_address const got = from.slots.take(mine.slots());
  return got != no_slot ? got : find_slot(from.place, from.slots, mine, may_wait);
}

inline void core::open(slot& made, slot_address address, std::uint32_t device, ticket& handed) noexcept {
  made.device.store(device, std::memory_order_relaxed);
  std::uint64_t const generation =
    generation_word{made.generation.load(std::memory_order_relaxed)}.generation() + 1;
  made.end.store(0, std::memory_order_relaxed);
  made.successors.store(successor_word::of(generation, successor_word::none), std::memory_order_relaxed);
  // release: who sees the generation open sees the slot of this task, not of the last
  made.generation.store(generation_word::of(generation), std::memory_order_release);
  handed.id_.runtime = this;
  handed.id_.slot = address;
  handed.id_.generation = generation;
  handed.device_ = device;
}

inline void core::publish(slot_address address, destination const& to, inbox& into) {
  into.push(address);
  if (to.queue != nullptr) {
    if (to.queue->announce()) { wake(*to.queue); }
    return;
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in pull_any
  if (!any_pending_.load(std::memory_order_relaxed) && !any_pending_.exchange(true, std::memory_order_seq_cst)) {
    workers_.wake();
  }
}

template <class What>
bool core::submit(What& what, task_options const& options, bool may_wait, ticket& handed) {
  check_usable();
  if constexpr (std::is_same_v<What, work>) {
    check_task(what, options.device, options.label);
  } else {
    check_task(what, options.device);
  }
  if (options.after.size() != 0) { check_after(options.after); }
  destination const to = destination_of(place(options, required_by(what)));
  urgency const level = urgency_of(options.priority);
  // What may throw comes first: once the slot is open, the task must be drained.
  inbox& into = inbox_to(to, level);
  slot_address const address = take_slot(to, into, may_wait);
  if (address == no_slot) { return false; }
  slot& made = to.at(address);
  try {
    fill_slot(made, to.side(address), what, options, level, unused.epoch());
  } catch (...) {
    to.slots.give_back(address);
    throw;
  }
  open(made, address, to.device(), handed);
  bool const waits_next = lone_habit::of_this_thread().submitted(id_, address, handed.id_.generation);
  if (waits_next && to.queue != nullptr && !single_threaded()) { to.queue->expect_waiter(); }
  publish(address, to, into);
  return true;
}

template bool core::submit(launch const&, task_options const&, bool, ticket&);
template bool core::submit(transfer const&, task_options const&, bool, ticket&);
template bool core::submit(work&, task_options const&, bool, ticket&);

void core::fill(slot_address address, replayed_part const& what, task_options const& options) {
  fill_slot(at(address), side(address), what, options, urgency_of(options.priority), unused.epoch());
}

task_id core::id_when_open(slot_address address) noexcept {
  generation_word const word{at(address).generation.load(std::memory_order_relaxed)};
  return {this, address, word.generation() + 1};
}

void core::open_in(slot_address address, unsigned where, ticket& handed) noexcept {
  open(at(address), address, where == devices_.size() ? 0 : where + 1, handed);
}

void core::take_slots(std::span<unsigned const> devices, urgency level, std::span<slot_address> slots) {
  bool const inside = callable_frame::innermost(*this) != nullptr;  // may not wait, and says so
  patience waited{single_threaded()};
  while (true) {
    std::fill(slots.begin(), slots.end(), no_slot);
    std::size_t taken = 0;
    try {
      for (; taken < slots.size(); ++taken) {
        destination const from = destination_of(devices[taken]);
        slots[taken] = take_slot(from, inbox_to(from, level), inside);
        if (slots[taken] == no_slot) { break; }
      }
    } catch (...) {
      give_back(slots);
      throw;
    }
    if (taken == slots.size()) { return; }
    // Nothing is waited for with slots in hand: another thread may have those that are missing, and want these.
    give_back(slots);
    check_usable();
    unsigned const scarce = devices[taken];
    std::uint32_t const seen = devices_[scarce]->pool.returns();
    if (help(waited.who(), scarce, [&] { return devices_[scarce]->pool.returns() != seen; })) {
      waited.moved();
    } else {
      idle(resolved(schedule_of(scarce + 1)), waited.round());
    }
    if (waited.time_to_ask()) { ask_all(); }
  }
}

void core::give_back(std::span<slot_address const> slots) noexcept {
  for (slot_address const each : slots) {
    if (each != no_slot) { pool(each).give_back(each); }
  }
}

slot_address core::find_slot(unsigned where, slot_pool& slots, inbox& mine, bool may_wait) {
  bool const any = where == devices_.size();
  if (slot_address const got = slots.take_any(); got != no_slot) { return got; }
  bool const inside = callable_frame::innermost(*this) != nullptr;
  std::uint32_t seen = slots.returns();
  auto const freed = [&] { return slots.returns() != seen; };
  std::optional<unsigned> const first = any ? std::nullopt : std::optional{where};
  if (!may_wait) {
    // Ended tasks whose slots nobody has collected yet do not count.
    // Whose callables to run is no question of this call, which must not take long: nobody's.
    if (!inside) { static_cast<void>(help(drainer{no_thread}, first, freed)); }
    return slots.take_any();
  }
  if (inside) {
    throw queue_full((any ? std::string{"the window for any device"} : "the window of device " + std::to_string(where)) +
                     " is full: " + std::to_string(slots.window()) +
                     " tasks have not ended, and a callable may not wait for them");
  }
  // A full window is a backlog that lasts: so long, about, until a fair part of it has gone. A thread that looks out for
  // every slot that comes back takes the core, or half of it, from the one that brings them.
  std::chrono::nanoseconds const worth_sleeping = std::chrono::nanoseconds{4} * slots.window();
  bool const large = worth_sleeping > std::chrono::microseconds{20};
  schedule const how = resolved(schedule_of(any ? 0 : where + 1));
  patience waited{single_threaded()};
  while (true) {
    check_usable();
    bool const helped = help(waited.who(), first, freed);
    if (helped) { waited.moved(); }
    // A look at one line until something has come back, rather than at every block: those who drain write there.
    for (int i = 0; i < 8 && how != schedule::blocking && !freed(); ++i) {
      for (int k = 0; k < 16; ++k) { pause(); }
    }
    bool const came = freed();
    seen = slots.returns();
    if (slot_address const got = came ? slots.take(mine.slots()) : slots.take_any(); got != no_slot) { return got; }
    if (waited.time_to_ask()) { ask_all(); }
    if (helped) { continue; }
    if (large && how != schedule::blocking) {
      std::this_thread::sleep_for(worth_sleeping);
    } else if (!came) {
      idle(how, waited.round());
    }
  }
}

void core::publish_in(slot_address address, unsigned where) {
  destination const to = destination_of(where);
  publish(address, to, inbox_to(to, to.at(address).level));
}

void core::wake(device_queue const& because) noexcept {
  // Whoever has the lease looks again after giving it back. What was announced must be out before the look
  // at the lease, as the giving back is out before that look: the fence pairs with drain_if_free's.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!because.gate.held()) { workers_.wake(); }
}

}  // namespace flotilla::dispatch
