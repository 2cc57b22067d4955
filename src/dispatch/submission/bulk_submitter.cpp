// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/submission/bulk_submitter.hpp"

#include <exception>

#include <flotilla/error/error.hpp>

#include "base/access.hpp"
#include "dispatch/submission/item_sink.hpp"
#include "dispatch/task/callable_frame.hpp"

namespace flotilla::dispatch {

slot_address bulk_submitter::take_slot_of_end() const {
  place const& to = with_.places.shared();
  return with_.slots.take(to, with_.places.inbox_to(to, 0), when_full::wait);
}

void bulk_submitter::submit_items(detail::bulk_source const& items, task_options const& options,
                                  bulk& to, std::size_t& submitted) const {
  item_sink sink{{with_.owner,
                  with_.valid,
                  with_.tasks,
                  with_.checks != nullptr,
                  {with_.devices, with_.waits, with_.usage, with_.tasks, with_.shared.chunks,
                   with_.limits, with_.shared.reclaimer}},
                 options,
                 to};
  try {
    try {
      items.make(items.state, sink);
    } catch (...) {
      sink.finish();  // the items before the error run
      throw;
    }
    sink.finish();
  } catch (...) {
    submitted = sink.submitted();
    throw;
  }
  submitted = sink.submitted();
}

void bulk_submitter::check_order(bulk& which, slot_address end) const {
  if (with_.checks == nullptr || !with_.checks->which().order) { return; }
  task_options after_items;
  for (task_key const task : which.tasks()) {
    // The task may have ended, so the slot may have a greater generation by now.
    std::uint64_t const now = with_.tasks.id_when_open(task.slot).generation - 1;
    std::uint32_t const since = static_cast<std::uint32_t>(now) - task.generation;
    after_items.after.add(task_id{with_.owner.number, task.slot, now - since});
  }
  with_.checks->check_order(detail::event_command{}, after_items, with_.tasks.checked_name(end),
                            with_.tasks.callables_inside());
}

void bulk_submitter::submit(detail::bulk_source const& items, task_options const& options,
                            ticket* ticket) const {
  with_.usage.check_usable();
  if (options.device) { static_cast<void>(with_.valid.checked(*options.device)); }
  with_.valid.check_predecessors(options.after.ids(), options.after_end.ids());
  runtime_parts const& shared = with_.shared;
  slot_address end = no_slot;
  if (ticket != nullptr && callable_frame::innermost(shared.id) != nullptr) {
    end = take_slot_of_end();
  }
  bulk* made = nullptr;
  std::size_t submitted = 0;
  try {
    made = &shared.bulks.add(items.count);
    if (ticket == nullptr) {  // before an item can fail
      shared.bulks.give_up_ticket();
      shared.posted.expect();
    }
    submit_items(items, options, *made, submitted);
    if (ticket != nullptr) {
      if (end == no_slot) { end = take_slot_of_end(); }
      bulk_end_command constexpr what;
      encode(shared.tasks.at(end), shared.tasks.side(end), what, task_options{}, 0,
             shared.reclaimer.epoch());
      check_order(*made, end);
    }
  } catch (...) {
    if (end != no_slot) { shared.tasks.pool(end).give_back(end); }
    if (made != nullptr) {
      if (ticket != nullptr) { shared.bulks.give_up_ticket(); }
      arrive(*made, items.count - submitted + 1);
    }
    throw;
  }
  // Nothing below throws.
  if (ticket == nullptr) { return arrive(*made, 1); }
  slot& task = shared.tasks.at(end);
  begin_launch(task);  // request_cancel must not cancel this task, but only the items
  if (shared.trace.active()) [[unlikely]] { shared.trace.note_submit(end); }
  std::uint64_t const generation = open_slot(task, end, 0, with_.owner, ticket);
  if (options.device) { detail::access::device(*ticket) = options.device->value + 1; }
  shared.bulks.set_task(*made, end, generation);
  arrive(*made, 1);
}

void bulk_submitter::arrive(bulk& which, std::size_t count) const {
  with_.shared.ends.arrive(which, count);
  // Items are counted when a thread ends them. If no thread waits, a worker must do so.
  if (with_.shared.bulks.any_open()) { with_.shared.bell.ring_for_continuations(); }
}

}  // namespace flotilla::dispatch
