// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/data/writer_table.hpp"

#include <new>
#include <utility>

namespace flotilla::flows {

writer& writer_table::add() {
  if (free_ == nullptr) { return all_.emplace_back(); }
  writer& reused = *std::exchange(free_, free_->next);
  reused = {};
  return reused;
}

void writer_table::give_back(writer& unused) noexcept {
  unused.next = std::exchange(free_, &unused);
}

void writer_table::release(writer* which) noexcept {
  if (which == nullptr || --which->owners != 0) { return; }
  which->next = nullptr;
  (last_ == nullptr ? first_ : last_->next) = which;
  last_ = which;
  ++size_;
  remove_ended();
}

void writer_table::remove_ended() noexcept {
  constexpr std::size_t max_steps = 2;
  bool const looks_at_all = size_ > limit_;
  std::size_t steps = looks_at_all ? size_ : max_steps;
  writer* before = nullptr;
  for (writer* each = first_; each != nullptr && steps != 0; --steps) {
    writer* const next = each->next;
    if (query_.has_ended(each->task)) {
      retire_failure(each->task);
      (before == nullptr ? first_ : before->next) = next;
      if (next == nullptr) { last_ = before; }
      --size_;
      give_back(*each);
    } else if (looks_at_all) {
      before = each;
    } else {
      break;
    }
    each = next;
  }
  if (looks_at_all) { limit_ = 2 * size_ + first_limit; }
}

void writer_table::retire_failure(task_id const& task) const noexcept {
  if (shared_.failures.empty()) { return; }
  try {
    shared_.reclaimer.retire({.kind = dispatch::epoch_reclaimer::kinds::kept_failure,
                              .address = task.slot,
                              .generation = task.generation});
  } catch (std::bad_alloc const&) {}  // the failure stays in the table until the runtime ends
}

}  // namespace flotilla::flows
