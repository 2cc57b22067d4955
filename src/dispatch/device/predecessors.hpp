#pragma once
// Finds out what a task has to wait for before it can go into a stream.

#include <memory>
#include <vector>

#include "dispatch/device/runtime_parts.hpp"

namespace flotilla::dispatch {

/// The state of a task's predecessors.
struct resolution {
  enum class kinds {
    ready,        // the task may go on; its stream waits for the marks that were found
    stopped,      // the task is parked, or the driver is poisoned: do nothing more with it
    failed,       // a predecessor failed, so the task fails too
    flush_first,  // launch the open batch of `lane`, then look again
  } kind;
  // If ready: the lane of an open batch that holds a predecessor and that the task may join; else
  // no_lane.
  unsigned lane = lane_layout::no_lane;
  std::shared_ptr<failure const> cause{};  // of failed
};

/// Only the holder of the device's lease.
class predecessors {
 public:
  predecessors(runtime_parts const& shared, unsigned device) : shared_(shared), device_(device) {}

  /// Looks at all predecessors of the task, and parks it if one of them is not launched.
  /// @param may_join  Whether it may join the open batch of a predecessor.
  /// @param waits     Receives the marks that its stream has to wait for, and nothing else.
  [[nodiscard]] resolution resolve(slot_address task, bool may_join, std::vector<end_mark>& waits);

 private:
  [[nodiscard]] task_key key_of(slot_address task, std::size_t i) const noexcept;

  runtime_parts const& shared_;
  unsigned const device_;
};

}  // namespace flotilla::dispatch
