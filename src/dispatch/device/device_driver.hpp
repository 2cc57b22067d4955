#pragma once
// One device, put together from the classes of this room.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <flotilla/device/counters.hpp>

#include "context/leased_context.hpp"
#include "dispatch/device/batch_committer.hpp"
#include "dispatch/device/callable_runner.hpp"
#include "dispatch/device/deferred_free.hpp"
#include "dispatch/device/device_side_waits.hpp"
#include "dispatch/device/failure_reporter.hpp"
#include "dispatch/device/helper.hpp"
#include "dispatch/device/intake.hpp"
#include "dispatch/device/memory_ops.hpp"
#include "dispatch/device/predecessors.hpp"
#include "dispatch/device/replayer.hpp"
#include "dispatch/device/staged_copies.hpp"
#include "dispatch/device/task_starter.hpp"

namespace flotilla::dispatch {

class device_set;

/// Drives one device. A pass is a pipeline: it ends what is done, takes tasks in, starts them,
/// launches the open batches, runs callables, and moves copies on.
class device_driver {
 public:
  using stop_predicate = std::function<bool()>;  // may be empty

  struct parts {
    runtime_parts const& shared;
    context::leased_context& own;
    device_inbound& inbound;
    device_set const& devices;
    std::span<context::context_handle const* const> contexts;  // of all devices, by ordinal
    unsigned index;
    unsigned launch_lanes;  // a count
  };
  /// Creates streams and graph memory. @throws driver_error, std::bad_alloc
  explicit device_driver(parts const& with);
  device_driver(device_driver const&) = delete;
  device_driver& operator=(device_driver const&) = delete;

  // ---- any thread ----

  [[nodiscard]] unsigned index() const noexcept { return parts_.index; }
  [[nodiscard]] context::context_handle& context() const noexcept { return parts_.own.context; }
  [[nodiscard]] context::lease_gate& gate() const noexcept { return parts_.own.gate; }
  [[nodiscard]] device_inbound& inbound() const noexcept { return parts_.inbound; }
  [[nodiscard]] lane_set& lanes() noexcept { return lanes_; }
  [[nodiscard]] lane_set const& lanes() const noexcept { return lanes_; }
  [[nodiscard]] device_counters counters() const noexcept;

  // ---- the holder of the lease ----

  /// Makes the context current and passes while there is progress, until `stop` says so or another
  /// thread wants the lease. @return whether anything moved.
  bool drain(context::lease& lease, helper_filter filter, stop_predicate const& stop = {});
  /// Ends the tasks of batches that are done. Needs no current context. @return whether there were
  /// any.
  bool retire();
  /// Builds a graph of recorded tasks. With the context current. @throws driver_error
  [[nodiscard]] std::shared_ptr<recorded_part> build(planned_part const& plan,
                                                     std::span<recorded_action const> actions) {
    return replays_.build(plan, actions, frees_.memory_stream());
  }
  /// Frees items that no open task can use. With the context current.
  void free_unused(deferred_free::blocking blocking) { frees_.run(blocking); }
  /// A stream for allocations and frees, and nothing else.
  [[nodiscard]] CUstream memory_stream() const noexcept { return frees_.memory_stream(); }
  /// Frees everything that needs the context, as the runtime ends. With the context current.
  void destroy_resources() noexcept;

 private:
  // pass.cpp
  bool pass(helper_filter filter, stop_predicate const& stop);
  /// If one of our batches waits for another device, its successor will probably arrive within
  /// microseconds: polls for it instead of giving the lease away. @return whether another pass has
  /// work.
  [[nodiscard]] bool expect_next_hop(context::lease const& lease, stop_predicate const& stop);
  void end_batch(lane const& lane, lane::batch const& batch,
                 std::chrono::steady_clock::duration took, slot_returns& returns);
  [[nodiscard]] bool has_work_left() const noexcept;
  /// The context cannot be made current: fails every task that waits here.
  bool fail_all(std::shared_ptr<failure const> const& why);

  parts const parts_;
  completion_page& page_;
  lane_set lanes_;
  failure_reporter reporter_;
  batch_launcher launcher_;
  batcher batches_;
  device_side_waits device_waits_;
  predecessors before_;
  batch_committer committer_;
  staged_copies staged_;
  memory_ops copies_;
  replayer replays_;
  callable_runner callables_;
  task_starter starter_;
  intake intake_;
  deferred_free frees_;
};

}  // namespace flotilla::dispatch
