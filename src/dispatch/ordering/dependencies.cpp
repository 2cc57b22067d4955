// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/ordering/dependencies.hpp"

namespace flotilla::dispatch {

namespace {

/// Makes the thread that ends the task look at the list of successors. Call it before a task is
/// added to the list. @return false if the task has ended.
bool note_follower(slot& task, std::uint32_t generation) noexcept {
  std::uint64_t word = task.generation.load(std::memory_order_relaxed);
  while (true) {
    generation_word const now{word};
    if (static_cast<std::uint32_t>(now.generation()) != generation) { return false; }
    if (now.followed()) { return true; }
    // relaxed: the thread that ends the task finds the flag in its own exchange of this word, or
    // this exchange fails
    if (task.generation.compare_exchange_weak(word, word | generation_word::followed_bit,
                                              std::memory_order_relaxed)) {
      return true;
    }
  }
}

}  // namespace

task_state dependencies::look(task_key key) const {
  using states = task_state::states;
  slot const& task = tasks_.at(key.slot);
  auto const is_current = [&] {
    generation_word const word{task.generation.load(std::memory_order_acquire)};
    return static_cast<std::uint32_t>(word.generation()) == key.generation;
  };
  while (is_current()) {
    end_mark const end{task.end.load(std::memory_order_acquire)};
    bool const is_reached = end.valid() && board_.reached(end);
    // The mark belongs to this task only if the generation is still the same after the mark was
    // read. Look at the generation after the number: if the task has failed because its device was
    // lost, its number is reached later.
    if (!is_current()) { break; }
    if (!is_reached) { return {end.valid() ? states::launched : states::open, end}; }
    // If the task must run again because its device was lost, its mark was taken away before its
    // old number was reached.
    if (task.end.load(std::memory_order_relaxed) == end.word) { return {states::ended, end}; }
  }
  if (auto why = failures_.get(key.slot, key.generation)) {
    return {states::failed, {}, std::move(why)};
  }
  return {states::ended};
}

slot_address dependencies::propagate_demand(slot_address task) const noexcept {
  // The words `demanded` and `parked_on` may be out of date. In that case a helper may run a
  // callable that no thread waits for, which does no harm.
  for (int steps = 0; steps < 1024; ++steps) {
    slot& one = tasks_.at(task);
    if (one.demanded.load(std::memory_order_relaxed) == 0) {
      one.demanded.store(1, std::memory_order_relaxed);
    }
    std::uint32_t const ahead = one.parked_on.load(std::memory_order_relaxed);
    if (ahead == 0) { break; }
    if (ahead == slot::parked_as_host) [[unlikely]] {
      // The host task becomes due when the thread that drives the device of a predecessor retires
      // the predecessor, which may be later than its end. Until then, its end mark is valid.
      auto const next = hosts_.open_predecessor(task, [this](task_key key) {
        task_state const state = look(key);
        return state.state == task_state::states::open || state.end.valid();
      });
      if (!next) { break; }
      task = *next;
      continue;
    }
    task = ahead - 1;
  }
  return task;
}

void dependencies::release_share(slot_address task) noexcept {
  if (tasks_.is_shared(task)) { shared_.share(device_of(task)).release(tasks_.at(task)); }
}

void dependencies::acquire_share(slot_address task) noexcept {
  if (tasks_.is_shared(task)) { shared_.share(device_of(task)).acquire(tasks_.at(task)); }
}

bool dependencies::park(slot_address task, task_key ahead) {
  release_share(task);  // before the push, because after it another thread may release `task`
  slot& waiting = tasks_.at(task);
  slot& predecessor = tasks_.at(ahead.slot);
  bool const is_open = note_follower(predecessor, ahead.generation);
  std::uint64_t word = predecessor.successors.load(std::memory_order_acquire);
  while (is_open && successor_word::generation(word) == ahead.generation) {
    if (successor_word::head(word) == successor_word::closed) {
      // The list of an open task is closed only if its device was lost, and it must run again.
      if (look(ahead).state != task_state::states::open) { break; }
      if (predecessor.successors.compare_exchange_weak(
              word, successor_word::of(ahead.generation, successor_word::none),
              std::memory_order_acq_rel)) {
        word = successor_word::of(ahead.generation, successor_word::none);
      }
      continue;
    }
    waiting.next_parked.store(successor_word::head(word), std::memory_order_relaxed);
    waiting.parked_on.store(ahead.slot + 1, std::memory_order_relaxed);
    if (waiting.demanded.load(std::memory_order_relaxed) != 0) {
      predecessor.demanded.store(1, std::memory_order_relaxed);
    }
    // release: pairs with the acquire in take_successors, which reads next_parked
    if (predecessor.successors.compare_exchange_weak(
            word, successor_word::of(ahead.generation, task), std::memory_order_acq_rel)) {
      // A launch does not close an empty list. So the predecessor may be launched already, and this
      // thread must check the predecessor's mark after the push. If the predecessor is launched or
      // has ended, this thread takes the list and requeues every task in it, including `task`.
      std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in mark_launched
      if (look(ahead).state != task_state::states::open) {
        release_successors(ahead.slot, ahead.generation);
      }
      return true;
    }
  }
  waiting.parked_on.store(0, std::memory_order_relaxed);
  acquire_share(task);
  return false;
}

template <class Visit>
void dependencies::take_successors(slot_address task, std::uint64_t generation, std::uint32_t leave,
                                   Visit&& visit) {
  std::atomic<std::uint64_t>& successors = tasks_.at(task).successors;
  auto const lower_half = static_cast<std::uint32_t>(generation);
  std::uint64_t word = successors.load(std::memory_order_relaxed);
  do {
    // In a reused slot the list belongs to another generation: leave it alone.
    if (successor_word::generation(word) != lower_half ||
        successor_word::head(word) == successor_word::closed) {
      return;
    }
  } while (!successors.compare_exchange_weak(word, successor_word::of(lower_half, leave),
                                             std::memory_order_acq_rel, std::memory_order_relaxed));
  std::uint32_t next = successor_word::head(word);
  while (successor_word::is_task(next)) {
    slot_address const parked = next;
    slot& one = tasks_.at(parked);
    next = one.next_parked.load(std::memory_order_relaxed);
    one.parked_on.store(0, std::memory_order_relaxed);
    acquire_share(parked);
    visit(parked);
  }
}

void dependencies::release_successors(slot_address task, std::uint64_t generation) noexcept {
  take_successors(task, generation, successor_word::closed, [this](slot_address parked) {
    // Requeue the task at the device that parked it, because only that device may start it.
    inbounds_[device_of(parked)]->requeue(parked);
  });
}

void dependencies::resume_batched(slot_address task, lists_by_device runnable) {
  slot const& one = tasks_.at(task);
  auto const list_of = [&](slot_address parked) {
    unsigned const device = device_of(parked);
    return device < runnable.size() ? runnable[device] : nullptr;
  };
  std::uint64_t const word =
      one.successors.load(std::memory_order_acquire);  // pairs with the release in park
  // Before the task is launched, no other thread takes the list. Other threads only push tasks at
  // its head.
  bool any_here = false;
  // If another thread ends `task` early, it takes the list, and these links may lead into other
  // lists. So bound the search. take_successors then finds that the list is closed.
  constexpr int max_steps = 4096;
  int steps = 0;
  for (std::uint32_t next = successor_word::head(word);
       successor_word::is_task(next) && !any_here && steps < max_steps; ++steps) {
    any_here = list_of(next) != nullptr;
    next = tasks_.at(next).next_parked.load(std::memory_order_relaxed);
  }
  if (!any_here && steps < max_steps) { return; }
  std::uint64_t const generation =
      generation_word{one.generation.load(std::memory_order_relaxed)}.generation();
  // The list stays open. Tasks of other devices go back into the list, and are released when `task`
  // is launched. If these tasks were released earlier, they could only park again.
  take_successors(task, generation, successor_word::none, [&](slot_address parked) {
    if (std::vector<slot_address>* const list = list_of(parked); list != nullptr) {
      list->push_back(parked);
    } else if (!park(parked, {task, static_cast<std::uint32_t>(generation)})) {
      // `task` has ended already, because the runtime is poisoned.
      inbounds_[device_of(parked)]->requeue(parked);
    }
  });
}

void dependencies::take_back_launch(slot_address task) noexcept {
  slot& one = tasks_.at(task);
  one.batched.store(0, std::memory_order_relaxed);
  // relaxed: the caller raises the number of the mark later, with a release. So a thread that finds
  // the number reached sees this.
  one.end.store(0, std::memory_order_relaxed);
}

void dependencies::mark_launched(std::span<slot_address const> tasks, end_mark end) noexcept {
  for (slot_address const task : tasks) {
    slot& one = tasks_.at(task);
    one.batched.store(0, std::memory_order_relaxed);
    // release: pairs with the acquire in look and with all other acquire loads of `end`
    one.end.store(end.word, std::memory_order_release);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in park
  for (slot_address const task : tasks) {
    slot const& one = tasks_.at(task);
    std::uint64_t const word = one.successors.load(std::memory_order_relaxed);
    if (successor_word::head(word) == successor_word::none) { continue; }
    release_successors(
        task, generation_word{one.generation.load(std::memory_order_relaxed)}.generation());
  }
}

}  // namespace flotilla::dispatch
