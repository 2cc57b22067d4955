#pragma once
// Batches that wait for another device on their own device, not in their stream.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "dispatch/batching/batcher.hpp"
#include "dispatch/device/runtime_parts.hpp"

namespace flotilla::dispatch {

/// A stream that waits for a number (cuStreamWaitValue64) polls slowly. The step from a kernel on
/// one device to the next kernel on another device takes 8.3 us, 7.0 us with events, and 3.8 us if
/// a kernel of one thread polls (docs/results/h200x2-hops.txt). That kernel also saves the host the
/// driver's call, 1.4 us. So a batch may begin with such a kernel (builtin_functions::spin).
///
/// **Why it cannot hang.** A spin kernel keeps a place on its device. Take all launches of all
/// devices that have not ended, and of these the one that was made first. Its predecessors, in its
/// stream or by `after`, were launched before it, so they have ended: no task is put after a task
/// whose number is not in its stream (batch_committer::launched). So if the first launch is a spin
/// kernel, it ends. If it is another kernel, it needs a place for one block at a time, and there is
/// one, because a device has at most max_device_waits spin kernels of one thread each. Only a
/// launch whose blocks must all be on the device at once needs more: a cooperative one, or one in
/// clusters. On a device where such a launch may exist nothing waits. Cooperative launches can only
/// come from callables, so after its first callable no batch of a device waits. That callable runs
/// when the batches that wait have ended, or after one second, because they may wait for what the
/// callable does.
///
/// Not covered: blocks of an ordinary launch that wait for each other, which CUDA does not promise
/// to work either; and cooperative launches of a first callable that ran after that second.
///
/// Contexts of one GPU take turns of milliseconds. A spin kernel uses up its context's turn, a
/// waiting stream does not. So nothing waits while flotilla has contexts beside this runtime's in
/// the process. Contexts of others, here or in other processes, are not known.
///
/// Only the holder of the device's lease.
class device_side_waits {
 public:
  struct parts {
    runtime_parts const& shared;
    context::context_handle const& context;
    lane_set const& lanes;
    batcher& batches;
    builtin_functions const& functions;
    unsigned devices;  // of the runtime, a count
  };
  explicit device_side_waits(parts const& with) : parts_(with) {}

  /// Checks kernels that were loaded since the last pass, and notes how often passes come. With the
  /// context current.
  void begin_pass();
  /// Call it when a batch that waited has ended.
  void note_ended(std::chrono::steady_clock::time_point now) noexcept { last_end_ = now; }
  /// From now on no batch waits.
  void disable() noexcept;

  /// The mark of `waits` that a batch of that kernel should wait for on the device; not valid:
  /// none.
  [[nodiscard]] end_mark choose(std::span<end_mark const> waits,
                                kernel_profile const& profile) const;
  /// Whether to hold the task back until a batch that waits has ended, instead of making its stream
  /// wait. A chain that is ahead of its devices stays ahead, so it would go on at the slower pace
  /// of streams.
  /// @param waiting  How many tasks wait for room already.
  [[nodiscard]] bool should_keep(slot const& task, std::span<end_mark const> waits,
                                 std::size_t waiting) const;
  /// Whether any batch waits on the device, open or in flight.
  [[nodiscard]] bool any() const noexcept { return count() != 0; }
  /// Whether a callable may run: no batch waits, or `disable` was called long enough ago.
  [[nodiscard]] bool callables_may_run() const;

 private:
  [[nodiscard]] std::uint32_t count() const noexcept {
    return parts_.lanes.batches_waiting_on_device() + parts_.batches.open_device_waits();
  }
  [[nodiscard]] std::uint32_t max_count() const noexcept;
  [[nodiscard]] bool supported_by_device() const;
  /// The first of `waits` that belongs to another device and will be reached soon.
  [[nodiscard]] end_mark near_wait(std::span<end_mark const> waits) const noexcept;

  parts const parts_;
  std::optional<bool> allowed_;  // empty: not known yet
  std::size_t kernels_seen_ = 0;
  bool passes_are_frequent_ = false;
  std::chrono::steady_clock::time_point last_pass_{};  // while batches wait
  std::chrono::steady_clock::time_point last_end_{};
  std::optional<std::chrono::steady_clock::time_point> disabled_since_;
};

}  // namespace flotilla::dispatch
