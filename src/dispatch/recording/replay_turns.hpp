// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replays over several devices are launched one after another.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "dispatch/lane/launch_turn.hpp"
#include "dispatch/recording/replay_group.hpp"

namespace flotilla::dispatch {

/// The parts of a replay wait for each other on their devices, so they must not be launched in a
/// different order than those of another replay. A replay has its *turn* from the launch of its
/// first part until each part was launched or given up. Meanwhile, the lanes into which its parts
/// were launched take no other work (lane::held_for). So all its parts are launched as if at once:
/// nothing that one part waits for can wait for another part. tests/unit/dispatch/recording/
/// replay_turns_model_test.cpp shows that no order of launches leads to a deadlock.
///
/// The turn ends, because all parts of a replay have the same predecessors: if one part can be
/// launched, all can, or fail. A callable occupies its device, and may wait for what is behind the
/// replay. So no turn begins while a callable runs on one of its devices, and no callable begins on
/// one of its devices during the turn.
///
/// Threads: any.
class replay_turns {
 public:
  explicit replay_turns(std::size_t devices) : callables_(devices, 0) {}

  /// Begins the turn of a replay, unless another replay has its turn, or a callable runs on one of
  /// its devices. @return the turn; empty if the part must be launched later.
  [[nodiscard]] std::optional<launch_turn> enter(replay_group const& group,
                                                 std::uint64_t replay) noexcept {
    std::lock_guard const lock{mutex_};
    if (group_ == nullptr) {
      for (unsigned const device : group.devices()) {
        if (callables_[device] != 0) { return std::nullopt; }
      }
      group_ = &group;
      replay_ = replay;
      has_turn_.store(true, std::memory_order_relaxed);
    } else if (group_ != &group || replay_ != replay) {
      return std::nullopt;
    }
    return launch_turn{&over_, over_.load(std::memory_order_relaxed) + 1};
  }
  /// Notes that a part was launched, or will never be. The last part ends the turn.
  void handled(replay_group& group, std::uint32_t part, std::uint64_t replay) noexcept {
    std::lock_guard const lock{mutex_};
    if (!group.has_handled(part, replay)) {
      group.handled(part).store(replay, std::memory_order_relaxed);
    }
    if (group_ != &group) { return; }
    for (std::uint32_t each = 0; each < group.parts(); ++each) {
      if (!group.has_handled(each, replay_)) { return; }
    }
    group_ = nullptr;
    has_turn_.store(false, std::memory_order_relaxed);
    // release: pairs with the acquire in launch_turn
    over_.fetch_add(1, std::memory_order_release);
  }

  /// Notes that a callable begins. @return false if it must not begin now.
  [[nodiscard]] bool begin_callable(unsigned device) noexcept {
    if (has_one_device()) { return true; }
    std::lock_guard const lock{mutex_};
    if (group_ != nullptr && group_->uses(device)) { return false; }
    ++callables_[device];
    return true;
  }
  void end_callable(unsigned device) noexcept {
    if (has_one_device()) { return; }
    std::lock_guard const lock{mutex_};
    --callables_[device];
  }
  /// Returns whether a turn lasts that has to do with this device. The holder of the device's lease
  /// must then not wait for the device.
  [[nodiscard]] bool involve(unsigned device) const noexcept {
    // relaxed: a turn of another thread cannot launch on this device, whose lease the caller holds
    if (!has_turn_.load(std::memory_order_relaxed)) { return false; }
    std::lock_guard const lock{mutex_};
    return group_ != nullptr && group_->uses(device);
  }

 private:
  /// Then there are no turns.
  [[nodiscard]] bool has_one_device() const noexcept { return callables_.size() == 1; }

  std::mutex mutable mutex_;
  std::atomic<bool> has_turn_{false};     // whether group_ is not null; written with mutex_ locked
  std::vector<std::uint32_t> callables_;  // by device: how many run
  replay_group const* group_ = nullptr;   // whose replay has its turn; null: none
  std::uint64_t replay_ = 0;
  std::atomic<std::uint64_t> over_{0};  // the number of the last turn that is over
};

}  // namespace flotilla::dispatch
