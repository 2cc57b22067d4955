// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/ordering/bulk_table.hpp"

#include <utility>

#include <flotilla/error/error.hpp>

namespace flotilla::dispatch {

std::shared_ptr<failure const> bulk::failure_of_items() const {
  if (why_ == nullptr) { return nullptr; }
  // If the item did not run because of a predecessor, the bulk has the same first cause.
  return make_failure(
      std::make_exception_ptr(bulk_error(index_of_failure_, size_, why_->text, why_->error)),
      why_->cause);
}

bulk_table::~bulk_table() {
  while (first_ != nullptr) { release(*std::exchange(first_, first_->next_)); }
}

bulk& bulk_table::add(std::size_t size) {
  auto* const made = new bulk(size);
  std::lock_guard const lock{mutex_};
  made->next_ = std::exchange(first_, made);
  // seq_cst: pairs with the load by a worker that is about to sleep (see worker::stay_after_all)
  open_.fetch_add(1, std::memory_order_seq_cst);
  return *made;
}

void bulk_table::set_task(bulk& which, slot_address task, std::uint64_t generation) noexcept {
  std::lock_guard const lock{mutex_};
  which.task_ = task;
  which.generation_ = generation;
}

slot_address bulk_table::remove(bulk& which) noexcept {
  std::lock_guard const lock{mutex_};
  bulk** link = &first_;
  while (*link != &which) { link = &(*link)->next_; }
  *link = which.next_;
  open_.fetch_sub(1, std::memory_order_seq_cst);
  return which.task_;
}

void bulk_table::release(bulk& which) noexcept {
  // acq_rel: the last owner sees what the others have done with the bulk
  if (which.owners_.fetch_sub(1, std::memory_order_acq_rel) != 1) { return; }
  delete &which;
}

bulk* bulk_table::find(task_id const& id) const noexcept {
  bulk* one = first_;
  while (one != nullptr && (one->task_ != id.slot || one->generation_ != id.generation)) {
    one = one->next_;
  }
  return one;
}

std::uint64_t bulk_table::generation_now(slot_address task) const noexcept {
  // acquire: pairs with the release in open_counted
  return generation_word{tasks_.at(task).generation.load(std::memory_order_acquire)}.generation();
}

bulk* bulk_table::share(task_id const& id) noexcept {
  std::lock_guard const lock{mutex_};
  bulk* const found = find(id);
  if (found != nullptr) { found->owners_.fetch_add(1, std::memory_order_relaxed); }
  return found;
}

void bulk_table::point_to_open_task(task_id const& id) noexcept {
  std::lock_guard const lock{mutex_};
  bulk* const found = find(id);
  if (found == nullptr) { return; }
  std::size_t& first = found->first_open_;
  std::vector<task_key> const& tasks = found->tasks_;
  while (first < tasks.size() &&
         static_cast<std::uint32_t>(generation_now(tasks[first].slot)) != tasks[first].generation) {
    ++first;
  }
  if (first == tasks.size()) { return; }
  // Under the mutex: afterwards the bulk may end, and another task may use the slot.
  tasks_.at(id.slot).parked_on.store(tasks[first].slot + 1, std::memory_order_relaxed);
}

}  // namespace flotilla::dispatch
