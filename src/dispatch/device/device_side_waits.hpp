// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides which batches wait for another device in a spin kernel. Before all other batches, the
// stream itself waits.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "dispatch/batching/kernel_profiles.hpp"
#include "dispatch/batching/open_waves.hpp"
#include "dispatch/device/runtime_parts.hpp"

namespace flotilla::dispatch {

/// A device-side wait is a spin kernel at the beginning of a batch: a kernel of one thread that
/// polls for a completion number of another device (builtin_functions::spin). A spin kernel is
/// faster than a stream that waits for the number (cuStreamWaitValue64), because a stream polls
/// slowly. A hop from a kernel on one device to the next kernel on another device takes 8.3 us if a
/// stream waits for the number, 7.0 us if it waits for an event, and 3.8 us with a spin kernel
/// (docs/results/h200x2-hops.txt). A spin kernel also saves a driver call of 1.4 us.
///
/// **Why this cannot deadlock.** On its device, a spin kernel occupies the place of one block.
/// Consider, among the launches of all devices, the oldest launch that has not ended. All
/// predecessors of this launch were launched earlier, because a task counts as launched only when
/// its completion write is in the stream (batch_committer::launched). So these predecessors have
/// ended. If the oldest launch is a spin kernel, the number that it waits for has been written, so
/// the kernel ends. If the oldest launch is any other kernel, its blocks can run one after another
/// in a single place. Such a place is free, because a device has at most max_device_waits spin
/// kernels of one thread each. More batches of joint passes may wait, but behind others in a lane.
///
/// A cooperative launch or a launch in clusters needs places for several blocks at once. So a
/// device where such a launch is possible uses no device-side waits. Callables can make such
/// launches too. So a device stops using device-side waits when its first such launch or its first
/// callable arrives. The launch or callable starts when the spin kernels in flight have ended, but
/// after one second at the latest. Without this limit, spin kernels that wait for work behind it
/// would never end.
///
/// Two cases can still deadlock. In the first case, blocks of an ordinary launch wait for each
/// other. CUDA does not guarantee that this works. In the second case, the first callable or such
/// launch starts after one second, while spin kernels are in flight, and needs their places. The
/// setting "device_side_waits" turns spin kernels off for programs with such launches.
///
/// The contexts of one GPU share the GPU in time slices of milliseconds. A spin kernel uses up the
/// time slice of its context, but a waiting stream does not. So no batch uses a device-side wait
/// while flotilla has contexts of other runtimes in this process. Contexts of other libraries and
/// processes are not detected.
///
/// Threads: only the holder of the device's lease.
class device_side_waits {
 public:
  struct parts {
    runtime_parts const& shared;
    context::context_handle const& context;
    lane_set const& lanes;
    open_waves const& waves;
    kernel_profiles& profiles;
    builtin_functions const& functions;
    unsigned devices;  // how many devices the runtime has
  };
  explicit device_side_waits(parts const& with) : parts_(with) {}

  /// Checks whether the kernels that were loaded since the last pass allow device-side waits.
  /// Measures the time between passes. The context must be current.
  void begin_pass();
  /// Records that a batch with a device-side wait has ended.
  void note_ended(std::chrono::steady_clock::time_point now) noexcept { last_end_ = now; }
  /// From now on, new batches get no device-side waits.
  void disable() noexcept;

  /// Returns the end mark that a spin kernel of the batch shall wait for, or an invalid mark if the
  /// batch gets no spin kernel.
  /// @param waits    The end marks that the batch must wait for.
  /// @param profile  The profile of the batch's kernel.
  [[nodiscard]] end_mark choose(std::span<end_mark const> waits,
                                kernel_profile const& profile) const;
  /// The same for a batch of a joint pass. There may be any number of them in one lane, because a
  /// stream runs one after another, so only one of them occupies a place.
  [[nodiscard]] end_mark choose_in_turn(std::span<end_mark const> waits,
                                        kernel_profile const& profile, unsigned lane) const;
  /// Returns whether blocks of ordered grids may wait for other devices (joint_run). Callables and
  /// launches that need several places at once do not matter to them: such a grid ends without
  /// them.
  [[nodiscard]] bool may_wait_in_grids() const noexcept {
    return in_grids_ && context::live_contexts() == parts_.devices;
  }
  /// Returns whether to hold the task back until its device may run another device-side wait.
  /// Otherwise the stream would wait, which is slower. The later tasks of the chain would then use
  /// stream waits too, so a short delay now is better.
  /// @param waiting  How many tasks already wait for room.
  [[nodiscard]] bool should_keep(slot const& task, std::span<end_mark const> waits,
                                 std::size_t waiting) const;
  /// Returns whether any batch, open or in flight, has a device-side wait.
  [[nodiscard]] bool any() const noexcept { return count() != 0; }
  /// Returns whether a callable, or a launch that needs several places, may run: no batch has a
  /// device-side wait, or `disable` was first called more than a second ago.
  [[nodiscard]] bool callables_may_run() const;

 private:
  [[nodiscard]] std::uint32_t count() const noexcept {
    return parts_.lanes.batches_waiting_on_device() + parts_.waves.device_waits();
  }
  [[nodiscard]] std::uint32_t max_count() const noexcept;
  [[nodiscard]] bool is_own_device() const;
  /// Returns the first mark in `waits` that another device will reach with at most so many batches,
  /// or an invalid mark if there is none.
  [[nodiscard]] end_mark near_wait(std::span<end_mark const> waits,
                                   std::uint64_t max_batches) const noexcept;

  parts const parts_;
  std::optional<bool> allowed_;  // empty before the first pass
  bool in_grids_ = false;
  std::size_t kernels_seen_ = builtin_index::count;  // the built-in kernels use no clusters
  bool passes_are_frequent_ = false;
  std::chrono::steady_clock::time_point last_pass_{};  // updated only while any() is true
  std::chrono::steady_clock::time_point last_end_{};
  std::optional<std::chrono::steady_clock::time_point> disabled_since_;
};

/// Returns whether the driver ends kernels of the device that run for seconds, or whether this is
/// unknown. It does if the GPU has a display.
[[nodiscard]] bool ends_long_kernels(context::context_handle const& context);

}  // namespace flotilla::dispatch
