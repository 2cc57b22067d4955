// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What a submitter tells checks and traces.
#include "dispatch/submission/submitter.hpp"
#include "dispatch/task/callable_frame.hpp"

namespace flotilla::dispatch {

task_name submitter::checked_name(slot_address slot) const noexcept {
  task_id const id = id_when_open(slot);
  return {id.slot, id.generation};
}

std::vector<task_name> submitter::callables_inside() const {
  std::vector<task_name> made;
  for (auto const* each = callable_frame::innermost(owner_.number); each != nullptr;
       each = each->next()) {
    generation_word const word{tasks_.at(each->task()).generation.load(std::memory_order_relaxed)};
    made.push_back({each->task(), word.generation()});
  }
  return made;
}

void submitter::withdraw(slot_address slot) const {
  if (checks_ != nullptr) { checks_->withdraw(checked_name(slot)); }
  if (trace_.active()) { trace_.note_withdrawn(slot); }
}

}  // namespace flotilla::dispatch
