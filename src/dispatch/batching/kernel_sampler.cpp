// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/batching/kernel_sampler.hpp"

#include <optional>

namespace flotilla::dispatch {

void kernel_sampler::sample() {
  if (auto const sample = timer_.result(parts_.page)) {
    auto const took = sample->took - sample->entry -
                      (sample->completions - 1) * kernel_profile::completion_node_cost;
    // A CPU device runs the chains one after another, so divide the time by the number of chains.
    parts_.profiles.of(sample->kernel)
        .note(runs_in_turn_ ? took / sample->chains : took, sample->depth,
              runs_in_turn_ ? 1 : sample->chains);
    parts_.profiles.publish(sample->kernel);
  } else if (auto const open = runs_in_turn_ ? std::nullopt : timer_.still_open(parts_.page)) {
    parts_.profiles.of(open->kernel).note_open(open->took, open->depth, open->ahead);
    parts_.profiles.publish(open->kernel);
  }
}

}  // namespace flotilla::dispatch
