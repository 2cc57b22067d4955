// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/ordering/bulk_table.hpp"

#include <new>
#include <utility>

#include <flotilla/error/error.hpp>

#include "dispatch/task/cancellation.hpp"

namespace flotilla::dispatch {

std::shared_ptr<failure const> bulk::failure_of_items() const {
  if (why_ == nullptr) { return nullptr; }
  return make_failure(
      std::make_exception_ptr(bulk_error(index_of_failure_, size_, why_->text, why_->error)));
}

bulk_table::~bulk_table() {
  while (first_ != nullptr) { release(*std::exchange(first_, first_->next_)); }
}

bulk& bulk_table::add(std::size_t size) {
  void* const memory = ::operator new(bulk::bytes(size));
  bulk* const made = ::new (memory) bulk(size);
  std::uninitialized_default_construct_n(made->items(), size);
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
  which.~bulk();
  ::operator delete(&which);
}

bulk* bulk_table::find(task_id const& id) const noexcept {
  bulk* one = first_;
  while (one != nullptr && (one->task_ != id.slot || one->generation_ != id.generation)) {
    one = one->next_;
  }
  return one;
}

std::uint64_t bulk_table::generation_now(slot_address task) const noexcept {
  // acquire: pairs with the release in open_item
  return generation_word{tasks_.at(task).generation.load(std::memory_order_acquire)}.generation();
}

std::optional<bool> bulk_table::cancel(task_id const& id) {
  bulk* found = nullptr;
  {
    std::lock_guard const lock{mutex_};
    found = find(id);
    if (found == nullptr) { return std::nullopt; }
    found->owners_.fetch_add(1, std::memory_order_relaxed);
  }
  // Not under the mutex: a thread that ends another bulk must not wait for this loop.
  bool any = false;
  for (std::size_t i = 0; i < found->size_; ++i) {
    task_key const item = found->items()[i];
    std::uint64_t const now = generation_now(item.slot);
    if (static_cast<std::uint32_t>(now) != item.generation) { continue; }
    any = request_cancel(tasks_.at(item.slot), now) == cancel_answer::will_not_run || any;
  }
  release(*found);
  return any;
}

void bulk_table::point_to_open_item(task_id const& id) noexcept {
  std::lock_guard const lock{mutex_};
  bulk* const found = find(id);
  if (found == nullptr) { return; }
  std::size_t& first = found->first_open_;
  while (first < found->size_ &&
         static_cast<std::uint32_t>(generation_now(found->items()[first].slot)) !=
             found->items()[first].generation) {
    ++first;
  }
  if (first == found->size_) { return; }
  // Under the mutex: afterwards the bulk may end, and another task may use the slot.
  tasks_.at(id.slot).parked_on.store(found->items()[first].slot + 1, std::memory_order_relaxed);
}

}  // namespace flotilla::dispatch
