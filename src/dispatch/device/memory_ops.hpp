// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Starts copies and fills.

#include <span>

#include <flotilla/detail/memory_command.hpp>

#include "dispatch/device/batch_committer.hpp"
#include "dispatch/device/engine_batches.hpp"
#include "dispatch/device/staged_copies.hpp"
#include "dispatch/lane/filling_launches.hpp"

namespace flotilla::dispatch {

/// Threads: only the holder of the device's lease, with the context current.
class memory_ops {
 public:
  struct parts {
    runtime_parts const& shared;
    context::context_handle const& context;
    lane_set& lanes;
    filling_launches const& filling;
    failure_reporter& reporter;
    batch_committer& committer;
    staged_copies& staged;
    engine_batches& batches;
    // The contexts of all devices, indexed by ordinal. Needed for copies between devices.
    std::span<context::context_handle const* const> contexts;
  };
  explicit memory_ops(parts const& with) : parts_(with) {}

  /// Makes a stream wait for `waits` and puts the task into the stream. Hands a copy of pageable
  /// memory to `staged_copies` instead.
  /// @return false if the lane has no room, or if the source is on an isolated device that was lost
  /// and is not replaced yet. Then the task must be started again later.
  [[nodiscard]] bool start(slot_address task, std::span<end_mark const> waits);

 private:
  /// Returns whether the copy is between two devices of which at least one is isolated.
  [[nodiscard]] bool is_between(detail::memory_command const& what) const noexcept;
  /// Returns whether the device of the source was lost, and not the device that executes the copy.
  /// If so, tells the fault monitor. The executing device may be in this process, and then the
  /// status must not poison the runtime.
  [[nodiscard]] bool has_lost_source(detail::memory_command const& what, driver::call_outcome why,
                                     CUstream stream) const noexcept;
  [[nodiscard]] driver::call_outcome enqueue(detail::memory_command const& what,
                                             CUstream stream) const;
  [[nodiscard]] driver::call_outcome fill(detail::memory_command const& what,
                                          CUstream stream) const;
  /// Fills with a pattern that no single memset can write: writes the pattern once, then copies the
  /// filled part repeatedly.
  [[nodiscard]] driver::call_outcome fill_by_doubling(detail::memory_command const& what,
                                                      CUstream stream) const;

  parts const parts_;
};

}  // namespace flotilla::dispatch
