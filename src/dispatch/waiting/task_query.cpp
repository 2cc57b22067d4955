// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/waiting/task_query.hpp"

#include <atomic>

#include <flotilla/error/error.hpp>

#include "dispatch/task/cancellation.hpp"

namespace flotilla::dispatch {

namespace {

bool is_cancellation(std::exception_ptr const& why) noexcept {
  try {
    std::rethrow_exception(why);
  } catch (task_cancelled const&) { return true; } catch (timed_out const&) {
    return true;
  } catch (bulk_error const& of_bulk) { return is_cancellation(of_bulk.cause()); } catch (...) {
    return false;
  }
}

}  // namespace

// `id` is passed by reference, because a copy would stall the CPU: the copy would load words that
// were just stored with a different width.
bool task_query::has_ended(task_id const& id) const noexcept {
  slot const& task = shared_.tasks.at(id.slot);
  auto const is_gone = [&] {
    generation_word const word{task.generation.load(std::memory_order_acquire)};
    return word.generation() != id.generation;
  };
  if (is_gone()) { return true; }
  end_mark const end{task.end.load(std::memory_order_acquire)};
  // The mark changes if the task runs again because its device was lost (dependencies::look).
  if (end.valid() && shared_.board.reached(end) &&
      task.end.load(std::memory_order_relaxed) == end.word) {
    return true;
  }
  // Check again: `end` may belong to a later task in the same slot. In that case this task has
  // ended.
  if (is_gone()) { return true; }
  return shared_.faults.is_poisoned() && !runs_on_host(id.slot);
}

bool task_query::cancel(task_id const& id) const {
  if (shared_.bulks.any_open()) [[unlikely]] {
    auto const end = [this](slot_address task, std::uint64_t generation) {
      shared_.overdue.end_cancelled(task, generation);
    };
    if (auto const answer = shared_.bulks.cancel(id, end)) { return *answer; }
  }
  cancel_answer const answer = request_cancel(shared_.tasks.at(id.slot), id.generation);
  if (answer == cancel_answer::will_not_run) {
    shared_.overdue.end_cancelled(id.slot, id.generation);
  }
  if (answer != cancel_answer::ended) { return answer == cancel_answer::will_not_run; }
  auto const why = failure_of(id);
  return why != nullptr && is_cancellation(why->error);
}

std::shared_ptr<failure const> task_query::failure_of(task_id const& id) const {
  task_state const state = shared_.order.look({id.slot, static_cast<std::uint32_t>(id.generation)});
  if (state.state == task_state::states::failed) { return state.why; }
  if (state.state == task_state::states::ended) { return nullptr; }
  return shared_.faults.failure_of_all();  // an open task counts as ended only on a poisoned driver
}

std::exception_ptr task_query::error_of(task_id const& id) const {
  auto const why = failure_of(id);
  return why == nullptr ? nullptr : why->error;
}

std::optional<device_ordinal> task_query::device_of(task_id const& id,
                                                    std::uint32_t& known) const noexcept {
  // Atomic, because several threads may call const functions of one ticket at the same time.
  std::atomic_ref<std::uint32_t> const remembered{known};
  std::uint32_t device = remembered.load(std::memory_order_relaxed);
  if (device == 0) {
    slot const& task = shared_.tasks.at(id.slot);
    std::uint32_t const seen = task.device.load(std::memory_order_acquire);
    std::uint64_t const now =
        generation_word{task.generation.load(std::memory_order_acquire)}.generation();
    // The slot still holds the device of this task if the task is open, or if no other task has
    // used the slot since this task ended.
    if (now == id.generation || now == id.generation + 1) {
      device = seen;
      remembered.store(seen, std::memory_order_relaxed);
    }
  }
  return device == 0 ? std::nullopt : std::optional{device_ordinal{device - 1}};
}

}  // namespace flotilla::dispatch
