// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "simulation.hpp"

#include <algorithm>

namespace heat {

simulation::simulation(samples::team const& team, flotilla::flow& flow,
                       std::vector<band> const& bands, float alpha, std::size_t repeated)
    : team_(team),
      flow_(flow),
      kernel_(team.runtime().load(heat_kernels).kernel(heat_kernels.heat_step)),
      alpha_(alpha),
      repeated_(repeated),
      order_(order_of(bands)) {
  for (std::size_t i = 0; i < bands.size(); ++i) {
    parts_.push_back({bands[i],
                      priority_of(bands, i),
                      {make_state(flow, bands[i]), make_state(flow, bands[i])}});
  }
}

simulation::band_state simulation::make_state(flotilla::flow& flow, band const& of) {
  band_state made{.rows = {flow, {of.shape.rows, of.shape.columns}, "band"},
                  .first = {flow, {of.shape.columns}, "first row"},
                  .last = {flow, {of.shape.columns}, "last row"}};
  made.rows.set_owner(of.home.rank);
  made.first.set_owner(of.home.rank);
  made.last.set_owner(of.home.rank);
  return made;
}

void simulation::start(field const& from) {
  now_ = 0;
  for (part& each : parts_) {
    band_state& state = each.states[now_];
    float const* const values = from.values.data() + each.where.first_row * from.columns;
    flow_.post(
        uses(write(state.rows), write(state.first), write(state.last)),
        flotilla::host_task([values](flotilla::view<float, 2> rows, flotilla::view<float> first,
                                     flotilla::view<float> last) {
          std::copy_n(values, rows.size(), rows.data);
          std::copy_n(values, first.size(), first.data);
          std::copy_n(values + rows.size() - last.size(), last.size(), last.data);
        }));
    if (is_here(each)) { state.rows.prefetch_to(each.where.home.device); }
  }
  wait();
}

void simulation::advance(std::size_t steps) {
  if (repeated_ != 0) {
    // An even number of steps ends with the state with which it began.
    flow_.repeat(steps / repeated_, [this] {
      for (std::size_t i = 0; i < repeated_; ++i) { step(); }
    });
    steps %= repeated_;
  }
  for (; steps != 0; --steps) { step(); }
}

void simulation::step() {
  for (std::size_t const i : order_) { submit(i); }
  now_ = 1 - now_;
}

// No line here copies an edge, sends it to another rank, or says what must wait: the flow infers it
// from what a task reads and writes.
void simulation::submit(std::size_t index) {
  part& here = parts_[index];
  band_shape const& shape = here.where.shape;
  band_state& from = here.states[now_];
  band_state& to = here.states[1 - now_];
  // A band at the border of the field has no neighbour there. The kernel does not use the row.
  auto& above = index == 0 ? from.first : parts_[index - 1].states[now_].last;
  auto& below = index + 1 == parts_.size() ? from.last : parts_[index + 1].states[now_].first;
  auto const blocks = blocks_for(shape);
  flow_.post(kernel_.with_shape({blocks.x, blocks.y}, {threads_per_block})(
                 read(from.rows), read(above), read(below), write(to.rows), write(to.first),
                 write(to.last), shape, alpha_),
             {.device = here.where.home.device, .label = "step", .priority = here.priority});
}

void simulation::check() {
  // If a step failed, the edges that it should have written are lost, and so are those of all later
  // steps of its band. `host` throws the error.
  for (part& each : parts_) {
    if (is_here(each)) { static_cast<void>(each.states[now_].first.host()); }
  }
}

void simulation::copy_to(field& to) {
  for (part& each : parts_) { each.states[now_].rows.set_owner(0); }
  if (!team_.is_first()) { return; }
  for (part& each : parts_) { each.states[now_].rows.prefetch_to_host(); }
  for (part& each : parts_) {
    auto const rows = each.states[now_].rows.host();
    std::copy_n(rows.data, rows.size(),
                to.values.begin() + static_cast<std::ptrdiff_t>(each.where.first_row * to.columns));
  }
}

}  // namespace heat
