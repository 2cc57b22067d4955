// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/device_driver.hpp"

namespace flotilla::dispatch {

namespace {

/// Returns the kernels with which tests replace flotilla's built-in kernels on CPU devices. Returns
/// null for a GPU, or if there are no replacements.
builtin_functions const* replacements(runtime_parts const& shared,
                                      context::context_handle const& context,
                                      builtin_functions& functions) {
  if (context.where().kind != device_kind::cpu || shared.tuned.cpu_builtins == nullptr) {
    return nullptr;
  }
  functions = shared.tuned.cpu_builtins(context);
  return &functions;
}

order_use ordered_grids_on(context::context_handle const& context, tuning const& tuned) {
  if (tuned.ordered_grids != order_use::by_device) { return tuned.ordered_grids; }
  bool const is_gpu = context.where().kind == device_kind::gpu;
  return is_gpu ? order_use::if_faster : order_use::never;
}

}  // namespace

device_driver::device_driver(parts const& with)
    : parts_(with),
      page_(with.shared.board.page_of(with.index)),
      lanes_(with.own.context, page_, with.shared.board, with.index, with.launch_lanes,
             with.watches_waits),
      streams_(with.own.context, lanes_),
      trace_(with.shared, with.index),
      filling_(lanes_, with.shared.board, with.shared.lost.is_isolated(with.index)),
      late_(with.shared),
      reporter_(with.shared, with.own.context, late_, with.index),
      launcher_(
          {with.own.context, with.shared.tasks, with.shared.kernels, with.shared.board, lanes_}),
      grid_policy_(with.shared.kernels, grid_limits_),
      grids_({with.own.context, with.shared.tasks, with.shared.kernels, lanes_, launcher_,
              grid_limits_}),
      ordered_({with.own.context, with.shared.tasks, with.shared.kernels, lanes_, launcher_,
                grids_.records()}),
      chunk_launcher_({with.own.context, with.shared.tasks, with.shared.kernels, lanes_, launcher_,
                       grid_limits_}),
      profiles_(with.shared.kernels, with.index, with.shared.tuned.kernel_ns),
      sampler_({with.own.context, page_, lanes_, profiles_, with.shared.trace}),
      batch_lanes_({lanes_, waves_, profiles_, grid_policy_}),
      batches_({with.shared.tasks, with.shared.order, lanes_, launcher_, grid_policy_, waves_,
                profiles_, batch_lanes_, filling_, with.shared.tuned.filling_launch_ns}),
      flusher_({with.own.context, with.shared.tasks, with.shared.order, lanes_, filling_, launcher_,
                grid_policy_, grids_, ordered_, waves_, profiles_, sampler_, with.shared.kernels,
                ordered_grids_on(with.own.context, with.shared.tuned)}),
      joint_part_({with.shared.tasks, lanes_, waves_, ordered_, flusher_,
                   ordered_grids_on(with.own.context, with.shared.tuned)},
                  grid_policy_, profiles_),
      device_waits_({with.shared, with.own.context, lanes_, waves_, profiles_,
                     launcher_.functions(), static_cast<unsigned>(with.contexts.size())}),
      end_waits_(with.shared),
      before_(with.shared, with.index, end_waits_),
      committer_(with.shared, lanes_, reporter_),
      staged_({with.shared, with.own.context, with.own.gate, with.inbound, page_, lanes_, reporter_,
               committer_}),
      engine_batches_({with.shared, with.own.context, lanes_, filling_, reporter_, committer_}),
      copies_({with.shared, with.own.context, lanes_, filling_, reporter_, committer_, staged_,
               engine_batches_, with.contexts}),
      kernel_copies_({with.shared, with.peers, with.index}),
      replays_({with.shared, with.own.context, page_, lanes_, launcher_, grid_limits_, profiles_,
                batch_lanes_, waves_, reporter_}),
      chunks_({with.shared, lanes_, waves_, profiles_, sampler_, launcher_, chunk_launcher_,
               reporter_}),
      callables_({with.shared, with.own.context, with.own.gate, lanes_, before_, device_waits_,
                  reporter_, committer_}),
      events_(with.shared, with.own.context, reporter_),
      wave_flusher_({with.shared, with.index, waves_, profiles_, batches_, flusher_, joint_part_,
                     device_waits_, reporter_}),
      starter_({with.shared, lanes_, filling_, before_, waves_, profiles_, batch_lanes_, batches_,
                wave_flusher_, device_waits_, copies_, engine_batches_, kernel_copies_, replays_,
                chunks_, callables_, events_, reporter_, with.contexts.size() > 1}),
      intake_({with.shared, with.inbound, lanes_, batches_, starter_}),
      containment_({with.shared, with.own.context, page_, lanes_, streams_, launcher_, grids_,
                    sampler_, staged_, callables_, events_, reporter_, late_, starter_}),
      memory_(with.own.context),
      frees_({with.shared, with.own.context, lanes_, with.devices, memory_, reporter_}),
      joint_(with.devices, with.contexts.size(), with.peers, *this) {
  try {
    memory_.create();
    staged_.create();
    builtin_functions functions;
    launcher_.create(memory_.stream(), replacements(with.shared, context(), functions));
    grid_limits_.create(with.own.context);
    grids_.create(memory_.stream());
    ordered_.create(memory_.stream());
    kernel_copies_.create(launcher_.functions(), launcher_.usable());
  } catch (...) {
    destroy_resources();
    throw;
  }
}

void device_driver::destroy_resources() noexcept {
  staged_.destroy();
  parts_.shared.recordings.destroy_all_of(parts_.index);
  ordered_.destroy();
  grids_.destroy();
  launcher_.destroy();
  sampler_.destroy();
  lanes_.destroy();
  memory_.destroy();
  parts_.shared.board.events_of(parts_.index).destroy();
  page_.unregister();
  parts_.shared.progress->unregister(parts_.index);
}

device_counters device_driver::counters() const noexcept {
  device_counters counters;
  counters.tasks = parts_.shared.ends.ended(parts_.index);
  counters.failed = parts_.shared.ends.failed(parts_.index);
  counters.batches = flusher_.launched() + chunks_.launched();
  counters.pushes = gate().pushes();
  counters.migrations = gate().migrations();
  counters.callables = callables_.ran();
  counters.pulled = intake_.pulled();
  return counters;
}

}  // namespace flotilla::dispatch
