// Submit: choose a device, take a slot, fill it, push its index, make sure that somebody drains.
#include <algorithm>
#include <cstring>
#include <new>
#include <thread>

#include <flotilla/error.hpp>

#include "base/pause.hpp"
#include "dispatch/core.hpp"
#include "dispatch/lone_habit.hpp"
#include "dispatch/patience.hpp"

namespace flotilla::dispatch {

namespace {

using base::pause;
constexpr std::uint32_t no_thread = 0xffff'ffff;

}  // namespace

unsigned core::place(request const& what, task_options const& options) const {
  if (options.device) { return options.device->value; }
  if (what.transferred != nullptr) { return what.transferred->device.value; }
  if (what.launched != nullptr && what.launched->device()) { return what.launched->device()->value; }
  if (options_.placement != nullptr) {
    if (auto const chosen = options_.placement->place(devices(), options)) { return checked(*chosen); }
  }
  return devices_.size() == 1 ? 0u : static_cast<unsigned>(devices_.size());
}

bool core::submit(request const& what, task_options const& options, bool may_wait, ticket& handed) {
  check_usable();
  check_request(what, options);
  unsigned const where = place(what, options);
  // What may throw comes first: once the slot is open, the task must be drained.
  inbox& into = inbox_to(where, urgency_of(options.priority));
  slot_address const address = take_slot(where, into, may_wait);
  if (address == no_slot) { return false; }
  try {
    fill(address, what, options);
  } catch (...) {
    pool(address).give_back(address);
    throw;
  }
  open(address, where, handed);
  bool const waits_next = lone_habit::of_this_thread().submitted(id_, address, handed.id_.generation);
  if (waits_next && where != devices_.size() && !single_threaded()) { devices_[where]->expect_waiter(); }
  publish(address, where, into);
  return true;
}

inbox& core::inbox_to(unsigned where, urgency level) {
  bool const any = where == devices_.size();
  return thread_inboxes::get(id_, where, static_cast<unsigned>(devices_.size()) + 1,
                             any ? any_inboxes : devices_[where]->inboxes,
                             any ? any_pool_.window() : devices_[where]->pool.window(), level);
}

task_id core::id_when_open(slot_address address) noexcept {
  generation_word const word{at(address).generation.load(std::memory_order_relaxed)};
  return {this, address, word.generation() + 1};
}

void core::open(slot_address address, unsigned where, ticket& handed) noexcept {
  bool const any = where == devices_.size();
  slot& made = at(address);
  made.device.store(any ? 0 : where + 1, std::memory_order_relaxed);
  std::uint64_t const generation =
    generation_word{made.generation.load(std::memory_order_relaxed)}.generation() + 1;
  made.end.store(0, std::memory_order_relaxed);
  made.successors.store(successor_word::of(generation, successor_word::none), std::memory_order_relaxed);
  // release: who sees the generation open sees the slot of this task, not of the last
  made.generation.store(generation_word::of(generation), std::memory_order_release);
  handed.id_.runtime = this;
  handed.id_.slot = address;
  handed.id_.generation = generation;
  handed.device_ = any ? 0 : where + 1;
}

void core::take_slots(std::span<unsigned const> devices, urgency level, std::span<slot_address> slots) {
  bool const inside = callable_frame::innermost(*this) != nullptr;  // may not wait, and says so
  patience waited{single_threaded()};
  while (true) {
    std::fill(slots.begin(), slots.end(), no_slot);
    std::size_t taken = 0;
    try {
      for (; taken < slots.size(); ++taken) {
        slots[taken] = take_slot(devices[taken], inbox_to(devices[taken], level), inside);
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

slot_address core::take_slot(unsigned where, inbox& mine, bool may_wait) {
  slot_pool& slots = where == devices_.size() ? any_pool_ : devices_[where]->pool;
  slot_address const got = slots.take(mine.slots());
  return got != no_slot ? got : find_slot(where, slots, mine, may_wait);
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

void core::fill(slot_address address, request const& what, task_options const& options) {
  slot& made = at(address);
  made.batch = options.batch;
  made.level = urgency_of(options.priority);
  made.large = false;
  made.holds_work = false;
  made.submitter = static_cast<std::uint32_t>(context::this_thread_token());
  made.wanted.store(0, std::memory_order_relaxed);
  made.parked_on.store(0, std::memory_order_relaxed);
  made.staged.store(0, std::memory_order_relaxed);
  made.epoch.store(unused.epoch(), std::memory_order_relaxed);
  made.labelled = !options.label.empty();
  if (made.labelled) { side(address).set_label(options.label); }
  made.dependencies = static_cast<std::uint16_t>(options.after.size());
  if (options.after.size() > slot::inline_dependencies) { side(address).more_dependencies.clear(); }
  for (std::size_t i = 0; i < options.after.size(); ++i) {
    task_id const ahead = options.after[i];
    if (i < slot::inline_dependencies) {
      made.after_slot[i] = ahead.slot;
      made.after_generation[i] = static_cast<std::uint32_t>(ahead.generation);
    } else {
      side(address).more_dependencies.push_back({ahead.slot, static_cast<std::uint32_t>(ahead.generation)});
    }
  }
  if (what.launched != nullptr) {
    launch const& asked = *what.launched;
    made.kind = task_kind::launch;
    made.kernel = asked.kernel_index();
    made.shared_bytes = asked.dynamic_shared_bytes();
    made.grid[0] = asked.grid().x;
    made.grid[1] = asked.grid().y;
    made.grid[2] = asked.grid().z;
    made.block[0] = static_cast<std::uint16_t>(asked.block().x);
    made.block[1] = static_cast<std::uint16_t>(asked.block().y);
    made.block[2] = static_cast<std::uint16_t>(asked.block().z);
    made.argument_bytes = static_cast<std::uint16_t>(asked.argument_bytes());
    made.large = asked.argument_bytes() > slot::inline_bytes;
    std::byte* into = made.bytes;
    if (made.large) {
      // Kept with the slot from then on: a slot that once needed it does not allocate again.
      auto& store = side(address).arguments;
      if (store == nullptr) { store = std::make_unique<std::byte[]>(launch::most_bytes); }
      into = store.get();
    }
    std::memcpy(into, asked.arguments(), asked.argument_bytes());
  } else if (what.transferred != nullptr) {
    made.kind = task_kind::transfer;
    static_assert(sizeof(transfer) <= slot::inline_bytes);
    ::new (static_cast<void*>(made.bytes)) transfer(*what.transferred);
  } else if (what.replayed != nullptr) {
    made.kind = task_kind::recorded;
    ::new (static_cast<void*>(made.bytes)) replayed_part(*what.replayed);
  } else {
    made.kind = task_kind::work;
    static_assert(sizeof(work) <= slot::inline_bytes);
    ::new (static_cast<void*>(made.bytes)) work(std::move(*what.worked));
    made.holds_work = true;
  }
}

void core::publish(slot_address address, unsigned where, inbox& into) {
  into.push(address);
  if (where != devices_.size()) {
    if (devices_[where]->announce()) { wake(*devices_[where]); }
    return;
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in pull_any
  if (!any_pending_.load(std::memory_order_relaxed) && !any_pending_.exchange(true, std::memory_order_seq_cst)) {
    workers_.wake();
  }
}

void core::wake(device_queue const& because) noexcept {
  // Whoever has the lease looks again after giving it back. What was announced must be out before the look
  // at the lease, as the giving back is out before that look: the fence pairs with drain_if_free's.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!because.gate.held()) { workers_.wake(); }
}

}  // namespace flotilla::dispatch
