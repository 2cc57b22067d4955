// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/runtime_state.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/process_end.hpp"
#include "context/isolate.hpp"
#include "dispatch/runtime/options.hpp"
#include "dispatch/runtime/ordered_grids_environment.hpp"
#include "dispatch/runtime/runtime_registry.hpp"
#include "dispatch/trace/nvtx_range.hpp"

namespace flotilla::dispatch {

namespace {

/// Gives the devices the NUMA nodes and the recovery that a test has chosen.
context::choice with_tuning(context::choice chosen, tuning const& tuned) {
  if (tuned.recovery != nullptr) {
    auto api = std::make_shared<driver::table>(*chosen.api);
    api->recovery = tuned.recovery;
    chosen.api = std::move(api);
  }
  for (std::size_t i = 0; i < std::min(chosen.devices.size(), tuned.numa_nodes.size()); ++i) {
    chosen.devices[i].numa_node = tuned.numa_nodes[i];
  }
  return chosen;
}

/// Returns the NUMA node that each device prefers, or -1.
std::vector<int> nodes_of(std::vector<context::request> const& requests) {
  std::vector<int> made;
  for (context::request const& each : requests) { made.push_back(each.host_node); }
  return made;
}

/// Plans the contexts. Devices that are to be isolated get the forwarding driver.
std::vector<context::request> make_requests(context::choice& chosen, runtime_options const& options,
                                            base::numa_nodes const& nodes) {
  auto made = context::plan(chosen, with_environment(options), options.best_effort, nodes);
  context::isolate(chosen, made, options.worker_path);
  return made;
}

std::deque<context::leased_context> make_contexts(context::choice const& chosen,
                                                  std::vector<context::request> const& requests) {
  std::deque<context::leased_context> contexts;
  for (device const& info : chosen.devices) {
    context::request const& asked = requests[info.ordinal.value];
    contexts.emplace_back(context::driver_of(chosen, asked), info, asked);
  }
  return contexts;
}

/// Makes the memory of each device, and of the tasks that any device may take.
chunk_memories make_chunk_memories(std::deque<context::leased_context> const& contexts,
                                   unsigned host_device) {
  chunk_memories made;
  for (auto const& each : contexts) { made.emplace_back(each.context); }
  made.emplace_back(contexts[host_device].context, registered_memory::users::all_devices);
  return made;
}

std::unique_ptr<continuation_threads> make_threads(int workers, continuation_table& table,
                                                   doorbell& bell) {
  return workers == 0 ? nullptr : std::make_unique<continuation_threads>(table, bell);
}

std::unique_ptr<submit_checks> make_checks(checks which, argument_check::parts const& parts) {
  return which == checks{} ? nullptr : std::make_unique<submit_checks>(which, parts);
}

}  // namespace

runtime_state::runtime_state(runtime_options options, tuning const& tuned)
    : detail::runtime_impl{runtime_registry::next_number()},
      options_(checked_options(std::move(options))),
      tuned_(with_ordered_grids_of_environment(tuned)),
      chosen_(with_tuning(context::choose(options_.devices), tuned_)),
      numa_(tuned_.numa_root),
      requests_(make_requests(chosen_, options_, numa_)),
      host_device_(context::host_device(requests_)),
      contexts_(make_contexts(chosen_, requests_)),
      tasks_(windows_of(requests_), shared_window_of(requests_)),
      shared_queue_(tasks_.devices(), bell_),
      progress_(std::make_shared<progress_words>(tasks_.devices())),
      turns_(tasks_.devices()),
      host_work_(tasks_.devices()),
      order_(tasks_, board_, failures_, shared_queue_, hosts_),
      table_(std::make_shared<continuation_table>(bell_, options_.continuation_executor.get())),
      bulks_(tasks_),
      chunks_(make_chunk_memories(contexts_, host_device_)),
      threads_(make_threads(worker_count(options_.workers, tasks_.devices()), *table_, bell_)),
      posted_(error_handler(), tasks_, table_, bell_),
      trace_(number, tasks_, [this](bool on) { tasks.observe(on || checks != nullptr); }),
      ends_({tasks_, failures_, reclaimer_, order_, *table_, bulks_, chunks_, posted_,
             shared_queue_, tickets_, deadlines_, bell_, trace_}),
      text_(tasks_, kernels_, recordings_),
      faults_(tasks_, board_, text_, bell_, lost_, flags_, *progress_),
      describer_({tasks_, kernels_, board_, chosen_.devices}),
      stuck_(tasks_, board_, text_, recordings_, lost_),
      long_waits_(options_.report_waits_longer_than, tasks_, board_, text_),
      overdue_({tasks_, ends_, deadlines_, text_, faults_, stuck_, lost_, long_waits_,
                worker_count(options_.workers, tasks_.devices()) == 0}),
      slow_calls_(options_.report_calls_longer_than),
      shared_{number,
              worker_count(options_.workers, tasks_.devices()) == 0,
              options_.fuse_launches,
              checks_of(options_).order,
              host_device_,
              tuned_,
              tasks_,
              reclaimer_,
              failures_,
              bell_,
              shared_queue_,
              board_,
              kernels_,
              progress_,
              recordings_,
              turns_,
              order_,
              hosts_,
              host_work_,
              *table_,
              bulks_,
              chunks_,
              posted_,
              ends_,
              text_,
              lost_,
              faults_,
              stuck_,
              long_waits_,
              overdue_,
              slow_calls_,
              trace_,
              pollers_},
      peers(contexts_),
      usage(faults_),
      devices(shared_),
      policies(devices, chosen_.api->kind),
      query(shared_),
      runner(shared_, query, threads_.get()),
      events(shared_, devices, runner, bell_),
      waits({shared_, devices, policies, query, runner}),
      deadlocks(shared_, devices, tasks_.devices()),
      operations(shared_, devices, usage, deadlocks),
      valid(*this, kernels_, peers, tasks_.devices(), chosen_.api->kind),
      places(number, tasks_, shared_queue_),
      slots(waits, usage, places),
      checks(make_checks(checks_of(options_), {*chosen_.api, kernels_, chosen_.devices, handles_})),
      tasks({shared_, *this, usage, valid, places, slots, chosen_.devices, options_.placement.get(),
             checks.get()}),
      traces({trace_, tasks_, devices, kernels_, chosen_.devices, usage}),
      limits_of_chunks(kernels_, chosen_.devices),
      bulks({shared_, *this, usage, valid, places, slots, tasks, checks.get(), devices, waits,
             limits_of_chunks}),
      programs({shared_, kernels_, chosen_.api->kind, devices, usage, operations,
                options_.fuse_launches}),
      memory(waits, operations, usage),
      stream_waits({shared_, devices, query, contexts_[host_device_].context.api(), waits,
                    deadlocks, flags_}),
      continuations(waits, usage, table_, checks.get()),
      host({shared_, *this, usage, valid, places, slots, tasks, checks.get(), continuations}),
      ticket_count_(tasks_, failures_, reclaimer_, tickets_),
      homes_(numa_, nodes_of(requests_),
             [this](unsigned device) { return devices.is_busy(device); }),
      workers({shared_, devices, policies, runner, homes_}, bell_,
              worker_count(options_.workers, tasks_.devices()), options_.linger) {
  for (auto const& context : contexts_) { handles_.push_back(&context.context); }
  try {
    for (unsigned i = 0; i < tasks_.devices(); ++i) { add_device(i); }
    places.add_shared();
    traces.start_of_environment();
    nvtx_range::attach();
    runtime_registry::add(*this);
    if (stuck_.is_active() || lost_.any_isolated()) { overdue_.start_thread(); }
  } catch (...) {
    for (unsigned i = 0; i < devices.size(); ++i) {
      context::lease lease = devices[i].gate().take();
      context::current_scope const scope{lease};
      if (i == host_device_) { stream_waits.destroy(); }
      devices[i].destroy_resources();
    }
    throw;
  }
}

std::function<void(std::exception_ptr)> runtime_state::error_handler() {
  if (!options_.on_error || !checks_of(options_).order) { return options_.on_error; }
  return [this](std::exception_ptr why) {
    // The host now knows that a task has ended, but only the host knows which task it is.
    checks->observed_before(checks->next());
    options_.on_error(std::move(why));
  };
}

void runtime_state::add_device(unsigned index) {
  context::leased_context& own = contexts_[index];
  device_inbound& inbound = inbounds_.emplace_back(tasks_, own.gate, bell_);
  kept_leases_.emplace_back();
  order_.add(inbound);
  places.add(inbound);
  context::lease lease = own.gate.take();
  context::current_scope const scope{lease};
  board_.add(own.context, lane_layout::all_lanes, tuned_.first_completion_number);
  bool const is_isolated =
      tuned_.recovery != nullptr || own.context.effective().isolation == isolation::process;
  lost_.add(own.context, inbound, is_isolated, restart_limit_of(requests_[index].settings));
  unsigned const lanes =
      std::min(requests_[index].settings.lanes.value_or(lane_layout::launch_lanes),
               lane_layout::launch_lanes);
  std::chrono::milliseconds const stuck_after =
      requests_[index].settings.stuck_after.value_or(std::chrono::milliseconds::zero());
  // The worker process of an isolated device is replaced if the device is stuck.
  bool const watches_waits = stuck_after.count() > 0 && !is_isolated;
  try {
    devices.add(std::make_unique<device_driver>(device_driver::parts{
        shared_, own, inbound, devices, handles_, peers, index, lanes, watches_waits}));
  } catch (...) {
    board_.page_of(index).unregister();
    throw;
  }
  faults_.add(devices[index].streams(), own.context);
  stuck_.add(devices[index].lanes(), devices[index].streams(), own.context, stuck_after,
             [this, index](std::function<void()> const& read) {
               return devices.read_if_free(devices[index], read);
             });
  if (index == host_device_) { stream_waits.create(); }
  policies.add(*own.context.effective().schedule);
}

runtime_state::~runtime_state() { runtime_registry::remove(*this); }

}  // namespace flotilla::dispatch
