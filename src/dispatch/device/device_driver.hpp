// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// One device, with the classes that drive it.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <flotilla/device/counters.hpp>

#include "context/leased_context.hpp"
#include "dispatch/device/batch_committer.hpp"
#include "dispatch/device/callable_runner.hpp"
#include "dispatch/device/chunk_starter.hpp"
#include "dispatch/device/containment.hpp"
#include "dispatch/device/deferred_free.hpp"
#include "dispatch/device/device_memory.hpp"
#include "dispatch/device/device_side_waits.hpp"
#include "dispatch/device/device_trace.hpp"
#include "dispatch/device/end_waits.hpp"
#include "dispatch/device/event_waits.hpp"
#include "dispatch/device/failure_reporter.hpp"
#include "dispatch/device/helper.hpp"
#include "dispatch/device/intake.hpp"
#include "dispatch/device/joint_pass.hpp"
#include "dispatch/device/kernel_copies.hpp"
#include "dispatch/device/memory_ops.hpp"
#include "dispatch/device/predecessors.hpp"
#include "dispatch/device/replayer.hpp"
#include "dispatch/device/staged_copies.hpp"
#include "dispatch/device/task_starter.hpp"
#include "dispatch/device/wave_flusher.hpp"
#include "dispatch/lane/filling_launches.hpp"

namespace flotilla::dispatch {

class device_set;

/// Drives one device. A pass ends the tasks of completed batches, takes and starts new tasks,
/// launches open batches, runs callables, polls events, and advances staged copies.
class device_driver {
 public:
  using stop_predicate = std::function<bool()>;  // may be empty

  struct parts {
    runtime_parts const& shared;
    context::leased_context& own;
    device_inbound& inbound;
    device_set const& devices;
    std::span<context::context_handle const* const> contexts;  // of all devices, indexed by ordinal
    context::peer_table const& peers;
    unsigned index;
    unsigned launch_lanes;  // number of lanes for kernel launches
    bool watches_waits;     // see lane_set
  };
  /// Creates the streams and reserves graph memory. @throws driver_error, std::bad_alloc
  explicit device_driver(parts const& with);
  device_driver(device_driver const&) = delete;
  device_driver& operator=(device_driver const&) = delete;

  // ---- any thread ----

  [[nodiscard]] unsigned index() const noexcept { return parts_.index; }
  [[nodiscard]] context::context_handle& context() const noexcept { return parts_.own.context; }
  [[nodiscard]] context::lease_gate& gate() const noexcept { return parts_.own.gate; }
  [[nodiscard]] device_inbound& inbound() const noexcept { return parts_.inbound; }
  [[nodiscard]] lane_set& lanes() noexcept { return lanes_; }
  [[nodiscard]] stream_health& streams() noexcept { return streams_; }
  [[nodiscard]] device_counters counters() const noexcept;
  /// Takes part in a copy of host memory, until `stop` returns true (see staged_copies::share).
  bool share_copy(stop_predicate const& stop) noexcept { return staged_.share(stop); }
  /// Returns when the running callable has begun (see callable_runner), or 0.
  [[nodiscard]] std::int64_t callable_since() const noexcept { return callables_.running_since(); }

  // ---- the holder of the lease ----

  /// Makes the context current and runs passes while they make progress. Stops early if `stop`
  /// returns true, if another thread wants the lease, or after a time limit. @return whether any
  /// pass made progress.
  bool drain(context::lease& lease, helper_filter filter, stop_predicate const& stop = {});
  /// Ends the tasks of completed batches. The context need not be current. @return whether any
  /// batch was completed.
  bool retire();
  /// If the device is isolated and lost, replaces it, unless it is too early or the runtime is
  /// poisoned. @return whether the device is not lost now. It may be quarantined.
  bool replace_if_lost();
  /// Builds the graph of one part of a recording. The context must be current. @throws driver_error
  [[nodiscard]] std::shared_ptr<recorded_part> build(planned_part const& plan,
                                                     change_list const& actions,
                                                     std::shared_ptr<replay_group> group,
                                                     std::uint32_t number_in_group) {
    return replays_.build(plan, actions, std::move(group), number_in_group, memory_.stream());
  }
  /// Frees the items that no open task can use. The context must be current.
  void free_unused(deferred_free::blocking blocking) { frees_.run(blocking); }
  /// The context must be current.
  [[nodiscard]] device_memory& memory() noexcept { return memory_; }
  /// Frees all resources that need the context. Called when the runtime ends, with the context
  /// current.
  void destroy_resources() noexcept;

 private:
  friend class joint_pass;
  // Defined in pass.cpp:
  bool run_passes(context::lease& lease, helper_filter filter, stop_predicate const& stop);
  bool pass(helper_filter filter, stop_predicate const& stop);
  /// The first step of a pass: ends tasks, and takes and starts tasks. The context must be current.
  bool begin_pass();
  /// The last step of a pass: notes whether work is left.
  void end_pass() noexcept;
  bool end_completed();
  /// If a batch of this device has a device-side wait, polls for new work for up to 10 us. A
  /// successor of that batch will probably arrive within microseconds, so it is better to keep the
  /// lease than to release it. @return whether another pass would find work.
  [[nodiscard]] bool expect_next_hop(context::lease const& lease, stop_predicate const& stop);
  void end_batch(lane const& lane, lane::batch const& batch,
                 std::chrono::steady_clock::duration took, slot_returns& returns);
  /// Fails every task that waits for this device, because the context cannot be made current.
  bool fail_all(std::shared_ptr<failure const> const& why);

  parts const parts_;
  completion_page& page_;
  lane_set lanes_;
  stream_health streams_;
  device_trace trace_;
  filling_launches filling_;
  late_ends late_;
  failure_reporter reporter_;
  batch_launcher launcher_;
  grid_limits grid_limits_;
  grid_policy grid_policy_;
  grid_launcher grids_;
  ordered_launcher ordered_;
  chunk_launcher chunk_launcher_;
  open_waves waves_;
  kernel_profiles profiles_;
  kernel_sampler sampler_;
  batch_lanes batch_lanes_;
  batcher batches_;
  batch_flusher flusher_;
  joint_part joint_part_;
  device_side_waits device_waits_;
  end_waits end_waits_;
  predecessors before_;
  batch_committer committer_;
  staged_copies staged_;
  engine_batches engine_batches_;
  memory_ops copies_;
  kernel_copies kernel_copies_;
  replayer replays_;
  chunk_starter chunks_;
  callable_runner callables_;
  event_waits events_;
  wave_flusher wave_flusher_;
  task_starter starter_;
  intake intake_;
  containment containment_;
  device_memory memory_;
  deferred_free frees_;
  joint_pass joint_;
};

}  // namespace flotilla::dispatch
