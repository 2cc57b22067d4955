// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/ordering/task_end.hpp"

#include "base/prefetch.hpp"
#include "context/lease.hpp"
#include "dispatch/task/cancellation.hpp"
#include "dispatch/task/chunk_command.hpp"

namespace flotilla::dispatch {

void task_end::notify_watchers(slot_address task, std::uint64_t generation,
                               std::exception_ptr const& why) {
  parts_.continuations.task_ended({task, generation}, why);
  parts_.bell.ring_for_continuations();
}

void task_end::note_observers(slot_address task, generation_word before,
                              std::shared_ptr<failure const> const& why, run_of_items& items) {
  slot_side& side = parts_.tasks.side(task);
  if (before.stoppable()) { side.watch->stop.reset(); }
  if (before.timed()) { parts_.deadlines.remove(side.watch->deadline); }
  if (before.watched()) {
    notify_watchers(task, before.generation(), why == nullptr ? nullptr : why->error);
  }
  if (!before.counted()) { return; }
  if (why != nullptr) { side.counted_in->note_failure(side.index_in_bulk, why); }
  if (items.which != side.counted_in) {
    if (items.size != 0) { arrive(*items.which, items.size); }
    items = {side.counted_in, 0};
  }
  items.size += items_of(parts_.tasks.at(task));
}

bool task_end::has_ticket_left(slot_address task, generation_word before) const noexcept {
  return before.has_ticket() && parts_.tasks.ticket_of(task).settle(before.generation());
}

void task_end::arrive(bulk& which, std::size_t ended) {
  if (!which.arrive(ended)) { return; }
  // Remove the bulk before its task ends, because afterwards another task may use the slot.
  slot_address const task = parts_.bulks.remove(which);
  std::shared_ptr<failure const> const why = which.failure_of_items();
  bulk_table::release(which);
  if (task != no_slot) { return end(task, why); }
  if (why != nullptr) { parts_.posted.report(why); }
  parts_.bulks.note_reported();  // last: from here on, a wait for an idle runtime may return
}

void task_end::report_if_posted(slot const& task,
                                std::shared_ptr<failure const> const& why) noexcept {
  if (task.posted.load(std::memory_order_relaxed)) { parts_.posted.report(why); }
}

void task_end::end(slot_address task, std::shared_ptr<failure const> why) {
  slot& one = parts_.tasks.at(task);
  generation_word const open{one.generation.load(std::memory_order_relaxed)};
  std::uint64_t const generation = open.generation();
  bool const bad = why != nullptr;
  if (parts_.trace.active()) [[unlikely]] { parts_.trace.note_end(task, bad); }
  if (std::uint32_t const device = one.device.load(std::memory_order_relaxed); device != 0) {
    base::add(counts_[device - 1].ended, items_of(one));
    if (bad) { base::add(counts_[device - 1].failed, items_of(one)); }
    if (parts_.tasks.is_shared(task)) { parts_.shared.share(device - 1).release(one); }
  }
  if (one.kind == task_kind::chunk) {
    // The chunk was not launched, or its grids have ended.
    parts_.chunks[task >> 16].give_back(held_in<chunk_command>(one).piece);
  }
  // Store and report the failure before the generation changes, because a thread that sees the new
  // generation looks for the failure, or takes the runtime for idle.
  if (bad) {
    parts_.failures.put(task, generation, why, open.keeps_failure());
    report_if_posted(one, why);
  }
  // Change the generation before the parked tasks are released. Otherwise a released task could
  // find this task still open. seq_cst: doorbell::note_end must not overtake the exchange
  // (doorbell::tell). On x86 and AArch64 it costs no more than acq_rel.
  generation_word const before{
      one.generation.exchange(generation_word::of(generation + 1), std::memory_order_seq_cst)};
  run_of_items items;
  finish(task, before, why, items);
  parts_.tasks.pool(task).give_back(task);
  parts_.bell.note_end();
  if (items.size != 0) { arrive(*items.which, items.size); }
}

void task_end::finish(slot_address task, generation_word before,
                      std::shared_ptr<failure const> const& why, run_of_items& items) {
  std::uint64_t const generation = before.generation();
  bool const bad = why != nullptr;
  bool const is_ticket_left = has_ticket_left(task, before);
  if (bad && !is_ticket_left) {
    // The ticket is gone, so no thread can ask for the failure through it. But tasks that are
    // already submitted may depend on this task, so keep the failure until they have ended.
    parts_.reclaimer.retire(
        {.kind = epoch_reclaimer::kinds::failure, .address = task, .generation = generation});
  }
  if (before.observed()) { note_observers(task, before, why, items); }
  if (is_ticket_left) {
    parts_.tickets.take(static_cast<std::uint32_t>(context::this_thread_token()));
  }
  if (before.followed()) { parts_.order.release_successors(task, generation); }
}

void task_end::end_early(slot_address task, std::shared_ptr<failure const> why) {
  slot& one = parts_.tasks.at(task);
  std::uint64_t const generation =
      generation_word{one.generation.load(std::memory_order_relaxed)}.generation();
  if (parts_.trace.active()) [[unlikely]] {
    parts_.trace.note_first(task, traced_end::cancelled, tracer::now());
  }
  parts_.failures.put(task, generation, why);
  report_if_posted(one, why);
  // An addition keeps the cancel_state, which the thread that has the queue may change meanwhile.
  generation_word const before{
      one.generation.fetch_add(generation_word::of(1), std::memory_order_seq_cst)};  // as in `end`
  run_of_items items;
  finish(task, before, why, items);
  // Until here, the slot keeps the task.
  if (leave_early_end(one)) { parts_.tasks.pool(task).give_back(task); }
  parts_.bell.note_end();
  if (items.size != 0) { arrive(*items.which, items.size); }
}

void task_end::drop(slot_address task) {
  slot& one = parts_.tasks.at(task);
  if (std::uint32_t const device = one.device.load(std::memory_order_relaxed); device != 0) {
    base::add(counts_[device - 1].ended, items_of(one));
    base::add(counts_[device - 1].failed, items_of(one));
    if (parts_.tasks.is_shared(task)) { parts_.shared.share(device - 1).release(one); }
  }
  if (one.kind == task_kind::chunk) {
    parts_.chunks[task >> 16].give_back(held_in<chunk_command>(one).piece);
  }
  if (!leave_queue(one)) { return; }
  parts_.tasks.pool(task).give_back(task);
  parts_.bell.note_end();
}

std::uint32_t task_end::end_batch(unsigned device, priority_level level,
                                  std::span<slot_address const> tasks, slot_returns& returns) {
  // The prefetch distance in tasks. Other cores have written the slots, so the slots are not in
  // this core's cache.
  constexpr std::size_t prefetched = 8;
  // Before any generation changes, so that an idle runtime has counted all tasks.
  base::add(counts_[device].ended, tasks.size());
  std::uint32_t shared = 0;
  std::int64_t left = 0;  // number of these tasks whose ticket still exists
  run_of_items items;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i + prefetched < tasks.size()) {
      base::prefetch_to_write(&parts_.tasks.at(tasks[i + prefetched]));
    }
    slot_address const task = tasks[i];
    shared += parts_.tasks.is_shared(task) ? 1 : 0;
    slot& one = parts_.tasks.at(task);
    std::uint64_t const generation =
        generation_word{one.generation.load(std::memory_order_relaxed)}.generation();
    generation_word const before{one.generation.exchange(
        generation_word::of(generation + 1), std::memory_order_seq_cst)};  // as in `end`
    if (has_ticket_left(task, before)) { ++left; }
    if (before.observed()) { note_observers(task, before, nullptr, items); }
    if (before.followed()) { parts_.order.release_successors(task, generation); }
    returns.add(parts_.tasks.pool(task), task);
  }
  if (left != 0) {
    parts_.tickets.take(static_cast<std::uint32_t>(context::this_thread_token()), left);
  }
  if (shared != 0) { parts_.shared.share(device).release(level, shared); }
  if (items.size != 0) { arrive(*items.which, items.size); }
  return shared;
}

}  // namespace flotilla::dispatch
