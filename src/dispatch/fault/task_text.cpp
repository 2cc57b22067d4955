#include "dispatch/fault/task_text.hpp"

#include "dispatch/recording/replayed_part.hpp"

namespace flotilla::dispatch {

std::string task_text::describe(slot_address task, std::string const& subject) const {
  slot& one = tasks_.at(task);
  std::string text;
  switch (one.kind) {
    case task_kind::launch: text = "kernel '" + kernels_.kernels[one.kernel].name + "'"; break;
    case task_kind::memory_op: text = "a copy or fill"; break;
    case task_kind::callable: text = "a callable"; break;
    case task_kind::event_wait: text = "a wait for an event"; break;
    case task_kind::recorded: {
      // The task may end during this call, so its recorded part may already be gone.
      auto const part = parts_.get(held_in<replayed_part>(one).part);
      text = part == nullptr ? "a replay" : part->describe();
    }
  }
  if (one.labelled) { text += std::string{", label '"} + tasks_.side(task).label.data() + "'"; }
  return text + ", " + subject;
}

}  // namespace flotilla::dispatch
