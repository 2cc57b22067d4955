// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/batching/grid_run.hpp"

#include <algorithm>

#include "dispatch/batching/batch_shape.hpp"
#include "dispatch/batching/launch_begin.hpp"
#include "dispatch/graph/copy_kernels.hpp"
#include "dispatch/grid/grid_records.hpp"

namespace flotilla::dispatch {

namespace {

// The tasks of a run end together, so the first of them may end this much later than it could.
constexpr float max_run_ns = 60'000;
// The waves of an ordered run end one by one. But the next run of the lane waits for the whole run,
// and so do tasks that are in one of its waves only because they share the lane.
constexpr float max_ordered_run_ns = 1'000'000;

/// Returns whether the batch can be in one graph of grids with batches of other waves. Grids of
/// several forms run one after another in such a graph, so their kernels must be short.
bool is_plain_grid(open_batch const& batch) noexcept {
  batch_traits const& traits = batch.traits;
  return traits.all_in_grids && !traits.ordered && !traits.one_by_one &&
         (traits.one_form || batch.kernel_ns < short_kernel_ns);
}

}  // namespace

float grid_run::length_ns(open_batch const& batch) const {
  if (!builtin_index::contains(batch.traits.kernel)) {
    slot const& form = parts_.tasks.at(batch.tasks[0]);
    return batch.kernel_ns * static_cast<float>(parts_.policy.rounds(form, batch.blocks));
  }
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; i < batch.count; ++i) {
    bytes += held_in<detail::memory_command>(parts_.tasks.at(batch.tasks[i])).bytes;
  }
  return copy_kernels::length_ns(bytes);
}

bool grid_run::waits_for_its_lane(batch_place where) const {
  open_batch const& batch = parts_.waves.at(where);
  return (batch.lanes_before & ~open_waves::bit_of(where.lane)) == 0 &&
         std::ranges::all_of(batch.marks, [&](end_mark mark) {
           return mark.device() == parts_.lanes.device() && mark.lane() == where.lane;
         });
}

bool grid_run::continues(batch_place next, size const& ahead) const {
  if (!parts_.waves.is_open(next)) { return false; }
  open_batch const& batch = parts_.waves.at(next);
  bool const is_awaited = parts_.waves.at({next.wave - 1, next.lane}).is_awaited_elsewhere;
  bool const waits_for_others = !batch.before_elsewhere.empty() || !waits_for_its_lane(next);
  return !is_awaited && !waits_for_others && !batch.traits.device_wait.valid() &&
         is_plain_grid(batch) && has_room(batch, ahead);
}

bool grid_run::has_room(open_batch const& next, size const& ahead) const {
  open_batch const& first = parts_.waves.at(batches_.front());
  std::uint64_t const max_blocks =
      ordered_ ? parts_.policy.max_ordered_blocks(parts_.tasks.at(first.tasks[0]))
               : grid_records::max_blocks;
  if (ordered_ && !have_one_form(first, next)) { return false; }
  return ahead.tasks + next.count <= lane::max_tasks && ahead.blocks + next.blocks <= max_blocks &&
         ahead.length_ns + length_ns(next) <= (ordered_ ? max_ordered_run_ns : max_run_ns);
}

bool grid_run::have_one_form(open_batch const& one, open_batch const& other) const {
  return one.traits.one_form && other.traits.one_form &&
         grid_policy::have_one_form(parts_.tasks.at(one.tasks[0]), parts_.tasks.at(other.tasks[0]));
}

bool grid_run::begins_order(batch_place where) {
  batch_place const next{where.wave + 1, where.lane};
  if (parts_.order == order_use::never || !parts_.waves.is_open(next)) { return false; }
  open_batch const& first = parts_.waves.at(where);
  slot const& form = parts_.tasks.at(first.tasks[0]);
  // An ordered grid cannot begin with a wait for another device, nor end in parts for it.
  if (first.traits.device_wait.valid() || first.is_awaited_elsewhere) { return false; }
  if (!have_one_form(first, parts_.waves.at(next)) || !parts_.policy.can_be_ordered(form)) {
    return false;
  }
  if (parts_.order == order_use::always) { return true; }
  // A step of an ordered grid costs the device about 1 us more, so a short kernel gains nothing.
  if (first.kernel_ns < short_kernel_ns) { return false; }
  was_chosen_ = true;
  return parts_.profiles.of(form.kernel).order().begin_run();
}

void grid_run::find(batch_place first) {
  open_batch const& begin = parts_.waves.at(first);
  batches_.assign(1, first);
  groups_.clear();
  order().clear();
  ordered_ = was_chosen_ = false;
  groups_.add({begin.tasks.data(), begin.count}, begin.traits.one_form, parts_.policy);
  groups_of_first_wave_ = groups_.groups().size();
  if (!is_plain_grid(begin) || !groups_.others().empty()) { return; }
  ordered_ = begins_order(first) && order().add_wave({begin.tasks.data(), begin.count});
  size so_far{begin.count, begin.blocks, length_ns(begin)};
  for (batch_place next{first.wave + 1, first.lane}; continues(next, so_far); ++next.wave) {
    open_batch const& batch = parts_.waves.at(next);
    std::span<slot_address const> const tasks{batch.tasks.data(), batch.count};
    // If a task is cancelled, the flusher removes it when it comes to this wave.
    if (begin_launches(parts_.tasks, tasks)) [[unlikely]] { return; }
    if (ordered_ && !order().add_wave(tasks)) {
      if (order().waves() > 1) { return; }
      ordered_ = false;  // the two waves have too many edges; they may still be two grids
      if (!has_room(batch, so_far)) { return; }
    }
    if (!groups_.try_add(tasks, batch.traits.one_form, parts_.policy)) { return; }
    batches_.push_back(next);
    so_far.tasks += batch.count;
    so_far.blocks += batch.blocks;
    so_far.length_ns += length_ns(batch);
  }
}

grid_run::size grid_run::whole() const {
  size all{};
  for (batch_place const each : batches_) {
    open_batch const& batch = parts_.waves.at(each);
    all.tasks += batch.count;
    all.blocks += batch.blocks;
    all.length_ns += length_ns(batch);
  }
  return all;
}

bool grid_run::try_add(batch_place next, unsigned first_wave, grid_order::others const& elsewhere,
                       std::function<bool(place_elsewhere const&)> const& is_in_the_run,
                       std::function<bool(end_mark)> const& is_before_the_run) {
  open_batch const& batch = parts_.waves.at(next);
  if (!is_plain_grid(batch) || !batch.traits.one_form) { return false; }
  slot const& form = parts_.tasks.at(batch.tasks[0]);
  std::span<slot_address const> const tasks{batch.tasks.data(), batch.count};
  ordered_ = true;
  if (batches_.empty()) {
    // The stream waits for what the first batch must wait for, if that is launched.
    bool const waits_for_launched =
        next.wave == first_wave ||
        (batch.lanes_before == 0 &&
         std::ranges::all_of(batch.before_elsewhere, [&](place_elsewhere const& ahead) {
           return ahead.place.wave < first_wave || is_in_the_run(ahead);
         }));
    if (!waits_for_launched) { return false; }
    if (!parts_.policy.can_be_ordered(form)) { return false; }
    batches_.assign(1, next);
    bool const fits = has_room(batch, {}) && order().add_wave(tasks, elsewhere);
    if (!fits) { batches_.clear(); }
    return fits;
  }
  bool const waits_for_run_only = (batch.lanes_before & ~open_waves::bit_of(next.lane)) == 0 &&
                                  std::ranges::all_of(batch.marks, is_before_the_run) &&
                                  std::ranges::all_of(batch.before_elsewhere, is_in_the_run);
  if (!waits_for_run_only || batch.traits.device_wait.valid()) { return false; }
  if (!has_room(batch, whole()) || !order().add_wave(tasks, elsewhere)) { return false; }
  batches_.push_back(next);
  return true;
}

batch_traits grid_run::close() {
  batch_traits traits = parts_.waves.at(batches_.front()).traits;
  for (batch_place const each : batches_) {
    open_batch const& batch = parts_.waves.at(each);
    batch_traits const& own = batch.traits;
    traits.long_running =
        traits.long_running || own.long_running ||
        (builtin_index::contains(own.kernel) && length_ns(batch) >= long_running_kernel_ns);
    if (own.kernel != traits.kernel) { traits.kernel = batch_traits::no_kernel; }
    parts_.waves.close(each);
  }
  return traits;
}

}  // namespace flotilla::dispatch
