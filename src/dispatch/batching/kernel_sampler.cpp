// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/batching/kernel_sampler.hpp"

#include <optional>

namespace flotilla::dispatch {

void kernel_sampler::sample() {
  if (auto const sample = timer_.result(parts_.page)) {
    if (parts_.trace.active()) [[unlikely]] { note(*sample); }
    auto const took = sample->took - sample->entry -
                      (sample->completions - 1) * kernel_profile::completion_node_cost;
    // A CPU device runs the chains one after another, so divide the time by the number of chains.
    kernel_profile& profile = parts_.profiles.of(sample->kernel);
    if (sample->ordered) {
      profile.note_ordered();
    } else {
      profile.note(runs_in_turn_ ? took / sample->chains : took, sample->depth,
                   runs_in_turn_ ? 1 : sample->chains);
    }
    if (sample->waves != 0) {
      profile.order().note(sample->ordered,
                           static_cast<float>(took.count()) / static_cast<float>(sample->waves));
    }
    parts_.profiles.publish(sample->kernel);
  } else if (auto const open = runs_in_turn_ ? std::nullopt : timer_.still_open(parts_.page)) {
    parts_.profiles.of(open->kernel).note_open(open->took, open->depth, open->ahead);
    parts_.profiles.publish(open->kernel);
  }
}

void kernel_sampler::note(kernel_timer::sample const& sample) const noexcept {
  std::chrono::nanoseconds const between_events = sample.took + sample.launching;
  parts_.trace.push(record_kind::measured,
                    measured_record{.launched = tracer::as_ns(sample.begun),
                                    .seen = tracer::now(),
                                    .took = between_events.count(),
                                    .kernel = sample.kernel,
                                    .tasks = sample.tasks,
                                    .device = static_cast<std::uint16_t>(parts_.lanes.device()),
                                    .lane = static_cast<std::uint16_t>(sample.lane)});
}

}  // namespace flotilla::dispatch
