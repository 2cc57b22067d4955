// What the holder of a lease does to a task: looks at it, parks it, calls it launched, ends it.
#include "dispatch/core.hpp"

namespace flotilla::dispatch {

task_state core::look(task_key key) {
  using states = task_state::states;
  slot& of = at(key.slot);
  auto const current = [&] {
    return static_cast<std::uint32_t>(
             generation_word{of.generation.load(std::memory_order_acquire)}.generation()) == key.generation;
  };
  if (current()) {
    end_mark const end{of.end.load(std::memory_order_acquire)};
    // The mark is this task's only if the task was still there after it was read.
    if (current()) {
      if (!end.launched()) { return {states::open}; }
      bool const done = devices_[end.device()]->page->number(end.lane()) >= end.number();
      return {done ? states::ended : states::launched, end};
    }
  }
  if (auto why = failures_.get(key.slot, key.generation)) { return {states::failed, {}, std::move(why)}; }
  return {states::ended};
}

void core::leave_room(slot_address task) noexcept {
  if (!is_any(task)) { return; }
  slot const& of = at(task);
  device_queue& queue = *devices_[of.device.load(std::memory_order_relaxed) - 1];
  queue.any_open_[of.level].fetch_sub(1, std::memory_order_relaxed);
}

void core::take_room(slot_address task) noexcept {
  if (!is_any(task)) { return; }
  slot const& of = at(task);
  device_queue& queue = *devices_[of.device.load(std::memory_order_relaxed) - 1];
  queue.any_open_[of.level].fetch_add(1, std::memory_order_relaxed);
}

bool core::park(slot_address task, task_key on) {
  leave_room(task);  // first: once it is in the list, others may let it go on
  slot& waiting = at(task);
  slot& ahead = at(on.slot);
  std::uint64_t word = ahead.successors.load(std::memory_order_acquire);
  while (successor_word::generation(word) == on.generation && successor_word::head(word) != successor_word::closed) {
    waiting.next_parked.store(successor_word::head(word), std::memory_order_relaxed);
    waiting.parked_on.store(on.slot + 1, std::memory_order_relaxed);
    if (waiting.wanted.load(std::memory_order_relaxed) != 0) { ahead.wanted.store(1, std::memory_order_relaxed); }
    // release: pairs with the acquire in release_successors, which reads next_parked
    if (ahead.successors.compare_exchange_weak(word, successor_word::of(on.generation, task),
                                               std::memory_order_acq_rel)) {
      // Who launches looks for successors after it has stored the mark, and does not close the list: one of the two
      // sees the other. Whoever takes the list requeues all of it, this task too.
      std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in launched
      if (look(on).state != task_state::states::open) { release_successors(on.slot, on.generation); }
      return true;
    }
  }
  waiting.parked_on.store(0, std::memory_order_relaxed);
  take_room(task);
  return false;
}

template <class Use>
void core::take_successors(slot_address task, std::uint64_t generation, std::uint32_t leave, Use&& use) noexcept {
  // Only the list of this generation: a slot that was taken again has another one.
  std::atomic<std::uint64_t>& successors = at(task).successors;
  auto const cut = static_cast<std::uint32_t>(generation);
  std::uint64_t word = successors.load(std::memory_order_acquire);
  do {
    if (successor_word::generation(word) != cut || successor_word::head(word) == successor_word::closed) { return; }
  } while (!successors.compare_exchange_weak(word, successor_word::of(cut, leave), std::memory_order_acq_rel));
  std::uint32_t next = successor_word::head(word);
  while (next != successor_word::none && next != successor_word::closed) {
    slot& parked = at(next);
    std::uint32_t const address = next;
    next = parked.next_parked.load(std::memory_order_relaxed);
    parked.parked_on.store(0, std::memory_order_relaxed);
    take_room(address);
    // The device that parked it: it has it, and nobody else may start it.
    use(*devices_[parked.device.load(std::memory_order_relaxed) - 1], address);
  }
}

void core::release_successors(slot_address task, std::uint64_t generation) noexcept {
  take_successors(task, generation, successor_word::closed, [this](device_queue& queue, slot_address parked) {
    queue.requeue(parked);
    wake(queue);
  });
}

void core::resume_successors(slot_address task, device_queue const& on, std::vector<slot_address>& resumed) {
  slot const& of = at(task);
  std::uint64_t const word = of.successors.load(std::memory_order_acquire);  // pairs with the release in park
  // The list is nobody else's to take until the task is launched: others only put themselves before its head.
  auto const is_one = [](std::uint32_t next) { return next != successor_word::none && next != successor_word::closed; };
  bool any_here = false;
  for (std::uint32_t next = successor_word::head(word); is_one(next) && !any_here;) {
    slot const& parked = at(next);
    any_here = parked.device.load(std::memory_order_relaxed) == on.index + 1;
    next = parked.next_parked.load(std::memory_order_relaxed);
  }
  if (!any_here) { return; }
  std::uint64_t const generation = generation_word{of.generation.load(std::memory_order_relaxed)}.generation();
  // Left open: those of other devices stay, and are released as it is launched. Before, they could only park again.
  take_successors(task, generation, successor_word::none, [&](device_queue& queue, slot_address parked) {
    if (&queue == &on) {
      resumed.push_back(parked);
    } else if (!park(parked, {task, static_cast<std::uint32_t>(generation)})) {
      queue.requeue(parked);  // it has come to an end meanwhile: the driver is poisoned
      wake(queue);
    }
  });
}

void core::launched(std::span<slot_address const> tasks, end_mark end) {
  for (slot_address const task : tasks) {
    slot& of = at(task);
    of.staged.store(0, std::memory_order_relaxed);
    of.end.store(end.word, std::memory_order_release);  // pairs with the acquire in look and has_ended
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in park
  for (slot_address const task : tasks) {
    slot& of = at(task);
    if (successor_word::head(of.successors.load(std::memory_order_relaxed)) == successor_word::none) { continue; }
    release_successors(task, generation_word{of.generation.load(std::memory_order_relaxed)}.generation());
  }
}

void core::end_well(std::span<slot_address const> tasks, slot_returns& back) {
  constexpr std::size_t ahead = 8;
  std::int64_t left = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i + ahead < tasks.size()) { __builtin_prefetch(&at(tasks[i + ahead]), 1); }  // their tickets were elsewhere
    slot_address const task = tasks[i];
    slot& of = at(task);
    std::uint64_t const generation = generation_word{of.generation.load(std::memory_order_relaxed)}.generation();
    // As in `end`: successors must find it ended when they look again.
    generation_word const before{
      of.generation.exchange(generation_word::of(generation + 1), std::memory_order_acq_rel)};
    if (!before.detached()) { ++left; }
    if (before.watched()) { end_watched(task, generation, nullptr); }
    release_successors(task, generation);
    back.add(pool(task), task);
  }
  count_tickets(left);
}

void core::end(slot_address task, std::shared_ptr<failure const> why) {
  slot& of = at(task);
  std::uint64_t const generation = generation_word{of.generation.load(std::memory_order_relaxed)}.generation();
  bool const bad = why != nullptr;
  if (std::uint32_t const device = of.device.load(std::memory_order_relaxed); device != 0) {
    devices_[device - 1]->count_ended(1, is_any(task) ? 1 : 0, of.level, bad);
  }
  // The failure first: who sees the generation moved looks for it.
  if (bad) { failures_.put(task, generation, why); }
  // Successors must find it ended when they look again, so the generation moves before they are let go;
  // and it moves in one step with the question whether a ticket is left.
  generation_word const before{of.generation.exchange(generation_word::of(generation + 1), std::memory_order_acq_rel)};
  if (bad && before.detached()) {
    // Nobody can ask any more, but tasks submitted so far may still look at what they run after.
    unused.put({.kind = limbo::kinds::failure, .address = task, .generation = generation});
  }
  if (before.watched()) { end_watched(task, generation, bad ? why->error : nullptr); }
  count_tickets(before.detached() ? 0 : 1);
  release_successors(task, generation);
  pool(task).give_back(task);
}

template <class Use>
void core::for_each_open(Use&& use) noexcept {
  auto const scan = [&](slot_pool& slots, std::uint32_t number) {
    std::uint32_t const touched = slots.touched();
    for (std::uint32_t i = 0; i < touched; ++i) {
      if (generation_word{slots[i].generation.load(std::memory_order_acquire)}.open() && !use(number << 16 | i)) {
        return false;
      }
    }
    return true;
  };
  for (auto const& each : devices_) {
    if (!scan(each->pool, each->index)) { return; }
  }
  scan(any_pool_, static_cast<std::uint32_t>(devices_.size()));
}

void core::count_tickets_of_open(std::optional<unsigned> device) noexcept {
  std::int64_t left = 0;
  std::uint32_t const mine = device ? *device + 1 : 0;
  for_each_open([&](slot_address address) {
    slot& of = at(address);
    if (of.device.load(std::memory_order_relaxed) == mine) {  // else who has it may be ending it
      // Who ends the task or drops its ticket after this sees the bit: the ticket is counted.
      generation_word const before{of.generation.fetch_or(generation_word::detached_bit, std::memory_order_acq_rel)};
      if (!before.detached()) { ++left; }
    }
    return true;
  });
  count_tickets(left);
}

std::uint64_t core::oldest_epoch() noexcept {
  std::uint64_t oldest = unused.epoch_seen();
  for_each_open([&](slot_address address) {
    // A slot that ends and is taken again meanwhile has a later epoch: too old an answer, never too young.
    oldest = std::min(oldest, at(address).epoch.load(std::memory_order_relaxed));
    return true;
  });
  return oldest;
}

bool core::is_open_since(slot_address address, std::uint64_t epoch) noexcept {
  slot& of = at(address);
  return generation_word{of.generation.load(std::memory_order_acquire)}.open() &&
         of.epoch.load(std::memory_order_relaxed) <= epoch;
}

std::optional<slot_address> core::find_open_since(std::uint64_t epoch) noexcept {
  std::optional<slot_address> found;
  for_each_open([&](slot_address address) {
    if (is_open_since(address, epoch)) { found = address; }
    return !found;
  });
  return found;
}

}  // namespace flotilla::dispatch
