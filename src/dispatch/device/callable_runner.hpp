#pragma once
// Runs user code with a device's context current.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "dispatch/device/batch_committer.hpp"
#include "dispatch/device/device_side_waits.hpp"
#include "dispatch/device/helper.hpp"
#include "dispatch/device/predecessors.hpp"
#include "dispatch/queue/priority_queues.hpp"

namespace flotilla::dispatch {

/// Only the holder of the device's lease, with the context current.
class callable_runner {
 public:
  struct parts {
    runtime_parts const& shared;
    context::context_handle const& context;
    context::lease_gate const& gate;
    lane_set& lanes;
    predecessors& before;
    device_side_waits& device_waits;
    failure_reporter& reporter;
    batch_committer& committer;
  };
  explicit callable_runner(parts const& with) : parts_(with) {}

  /// Queues a callable whose predecessors are launched.
  void add(slot_address task) { queued_.at(parts_.shared.tasks.at(task).level).push_back(task); }
  /// Runs queued callables that `filter` allows, a bounded number, the most urgent first. Call it
  /// after the open batches were flushed.
  /// @param more_urgent  Whether a task above that level has arrived. Asked after each callable,
  /// which may take any time.
  /// @return whether any ran.
  bool run(helper_filter filter, std::function<bool(priority_level)> const& more_urgent);
  [[nodiscard]] bool empty() const noexcept { return queued_.empty(); }
  /// Appends all queued callables to `tasks` and removes them here.
  void move_to(std::vector<slot_address>& tasks) { queued_.move_to(tasks); }

  /// Whether there are failed callables whose streams have not passed their work.
  [[nodiscard]] bool has_failures() const noexcept { return !failures_.empty(); }
  /// Call it when the callable's stream has passed its work. @return why it failed, or null.
  [[nodiscard]] std::shared_ptr<failure const> take_failure(slot_address task);
  /// Callables run so far. Threads: any.
  [[nodiscard]] std::uint64_t ran() const noexcept { return ran_.load(std::memory_order_relaxed); }

 private:
  /// @return false: no lane has room, and the callable is still queued.
  bool run_one(slot_address task);
  [[nodiscard]] lane* find_lane(priority_level level);
  /// Calls and destroys the callable. @return what it threw. @param violation  Receives what it
  /// left changed, in words.
  std::exception_ptr call(slot_address task, lane const& lane, std::string& violation);

  parts const parts_;
  priority_queues queued_;
  std::vector<end_mark> waits_;  // scratch
  // Failures of callables whose streams have not passed their work yet.
  std::unordered_map<slot_address, std::shared_ptr<failure const>> failures_;
  std::atomic<std::uint64_t> ran_{0};  // the holder of the lease
};

}  // namespace flotilla::dispatch
