#pragma once
// Starts copies and fills.

#include <span>

#include <flotilla/detail/memory_command.hpp>

#include "dispatch/device/batch_committer.hpp"
#include "dispatch/device/staged_copies.hpp"

namespace flotilla::dispatch {

/// Only the holder of the device's lease, with the context current.
class memory_ops {
 public:
  struct parts {
    runtime_parts const& shared;
    context::context_handle const& context;
    lane_set& lanes;
    failure_reporter& reporter;
    batch_committer& committer;
    staged_copies& staged;
    // The context of each device, by ordinal, for copies between devices.
    std::span<context::context_handle const* const> contexts;
  };
  explicit memory_ops(parts const& with) : parts_(with) {}

  /// Puts the task into a stream that waits for `waits`, or hands it to the staged copies.
  /// @return false: there is no room now.
  [[nodiscard]] bool start(slot_address task, std::span<end_mark const> waits);

 private:
  [[nodiscard]] driver::call_outcome enqueue(detail::memory_command const& what,
                                             CUstream stream) const;
  [[nodiscard]] driver::call_outcome fill(detail::memory_command const& what,
                                          CUstream stream) const;
  /// For patterns that no memset has: writes the pattern once, and copies it on.
  [[nodiscard]] driver::call_outcome fill_by_doubling(detail::memory_command const& what,
                                                      CUstream stream) const;

  parts const parts_;
};

}  // namespace flotilla::dispatch
