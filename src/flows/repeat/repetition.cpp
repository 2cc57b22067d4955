// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/repeat/repetition.hpp"

#include <vector>

#include "base/access.hpp"

namespace flotilla::flows {

repetition::repetition(dispatch::runtime_state& runtime, task_planner& planner,
                       std::span<iteration_step const> steps, std::span<use_counts const> uses)
    : planner_(planner),
      writers_(planner.mover().writers()),
      steps_(steps),
      uses_(uses),
      order_(planner.mover(), planner.order(), steps),
      recorder_(runtime.recording_parts()) {
  std::vector<recorded_task> made;
  made.reserve(steps.size());
  for (iteration_step const& each : steps) {
    recorded_options options;
    for (std::size_t const ahead : each.after) { options.after.add(made[ahead]); }
    if (each.copy) {
      made.push_back(recorder_.add(each.copy->command, options));
    } else {
      options.device = each.where.device();
      made.push_back(recorder_.add(*each.what, options));
    }
  }
  recorder_.finish();
}

bool repetition::submit_one() {
  replay_options const options{.after = {last_ == nullptr ? join_.id() : last_->task},
                               .label = {},
                               .priority = steps_.front().priority};
  writer* const next = writers_.add_if([&] { return recorder_.try_replay(options); });
  if (next == nullptr) { return false; }
  ++next->owners;
  writers_.release(last_);
  last_ = next;
  return true;
}

obstacle repetition::submit(std::size_t count, std::size_t& done) {
  // Even if this call throws, another thread that logs an iteration must see the change.
  planner_.log().note_change("another thread replays");
  if (!join_.valid()) {
    if (obstacle const why = order_.submit_join(join_)) { return why; }
  }
  order_.reserve();
  std::size_t made = 0;
  auto const commit = [&] {
    if (made == 0) { return; }
    order_.commit(*last_, made);
    planner_.count_replays(uses_, made);
    done += made;
  };
  try {
    while (made < count && submit_one()) { ++made; }
  } catch (...) {
    commit();
    throw;
  }
  commit();
  return {};
}

void repetition::restart() noexcept {
  join_ = {};
  end();
}

void repetition::end() noexcept {
  writers_.release(last_);
  last_ = nullptr;
}

}  // namespace flotilla::flows
