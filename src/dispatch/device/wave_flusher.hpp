// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launches the waves of open batches, and handles what the driver answers.

#include <optional>
#include <span>
#include <vector>

#include "dispatch/batching/batch_flusher.hpp"
#include "dispatch/batching/batcher.hpp"
#include "dispatch/batching/joint_part.hpp"
#include "dispatch/batching/joint_waves.hpp"
#include "dispatch/device/device_side_waits.hpp"
#include "dispatch/device/failure_reporter.hpp"
#include "dispatch/device/runtime_parts.hpp"

namespace flotilla::dispatch {

class joint_pass;

/// In a joint pass, the waves of all devices are launched together, so this class asks the
/// joint_pass to launch earlier waves.
///
/// Threads: only the holder of the device's lease, with the context current.
class wave_flusher {
 public:
  struct parts {
    runtime_parts const& shared;
    unsigned device;
    open_waves& waves;
    kernel_profiles& profiles;
    batcher& batches;
    batch_flusher& flusher;
    joint_part& part;
    device_side_waits const& device_waits;
    failure_reporter& reporter;
  };
  explicit wave_flusher(parts const& with) : parts_(with) {}

  /// From now on, the open batches of this device are launched together with those of others.
  /// Null: alone.
  void drive_with(joint_pass* joint, joint_waves const* waves) noexcept {
    joint_ = joint;
    joint_waves_ = waves;
  }
  [[nodiscard]] bool is_joint() const noexcept { return joint_ != nullptr; }

  /// Launches the open batch at `where`, after the batches of all earlier waves.
  void flush(batch_place where);
  /// Notes what the open batches of a wave must wait for. All waves before it are launched.
  void prepare_wave(unsigned wave);
  /// Launches the open batches of a wave.
  /// @return the wave after which tasks were not launched; no value if all were launched.
  std::optional<unsigned> flush_wave(unsigned wave);
  /// Takes the tasks of later waves out of their open batches, to be started again.
  void abandon_waves_after(unsigned wave);
  /// Takes all tasks out of the open batches, without any call of the driver, and moves them and
  /// those of `alone` to the end of `tasks`.
  void take_open(std::vector<slot_address>& tasks);
  /// Launches a task without others, into a lane whose stream waits for its predecessors.
  void launch_alone(slot_address task, unsigned lane);
  /// The tasks that must be launched without others. The last is the next.
  [[nodiscard]] std::vector<slot_address>& alone() noexcept { return alone_; }

  // ---- for joint_run ----

  [[nodiscard]] unsigned device() const noexcept { return parts_.device; }
  [[nodiscard]] open_waves const& waves() const noexcept { return parts_.waves; }
  [[nodiscard]] joint_part& part() noexcept { return parts_.part; }
  /// Whether kernels of this device may wait for other devices.
  [[nodiscard]] bool may_wait() const noexcept { return parts_.device_waits.may_wait_in_grids(); }
  /// Adds what must end before the first batch of the device's part.
  /// @param first_wave  The first wave of all runs that are launched together. Earlier waves are
  ///                    launched.
  void add_marks_before_run(unsigned first_wave, std::vector<end_mark>& marks);
  /// Prepares the part of the device, behind all of these marks.
  /// @param others  The grids for which it may wait, with its own.
  bool prepare_joint(ordered_parts const& others, std::span<end_mark const> marks);
  /// @see joint_part::start
  bool start_joint();
  /// @see joint_part::commit
  void commit_joint(std::uint64_t id, bool runs);
  /// @see joint_part::abandon
  void abandon_joint();

 private:
  /// Moves what the open batch must wait for on other devices to its marks. All waves before it are
  /// launched.
  void add_marks_elsewhere(open_batch& batch) const;
  /// Decides whether the batch begins with a spin kernel.
  void choose_device_wait(batch_place where);
  /// Handles outcome_: reports errors, and queues the tasks that must be started again.
  void finish_flush();

  parts const parts_;
  flush_outcome outcome_;  // scratch memory
  std::vector<slot_address> alone_;
  joint_pass* joint_ = nullptr;
  joint_waves const* joint_waves_ = nullptr;
};

}  // namespace flotilla::dispatch
