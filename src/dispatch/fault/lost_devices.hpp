// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The isolated devices: whether they are lost, and whether they may be replaced.

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "context/context_handle.hpp"
#include "dispatch/fault/restart_limit.hpp"
#include "dispatch/queue/device_inbound.hpp"
#include "dispatch/task/failure.hpp"
#include "driver/device_recovery.hpp"

namespace flotilla::dispatch {

/// An isolated device runs in a worker process. A fault ends this process only. Whoever finds that
/// a device is lost announces work for it. The thread that then takes the lease of the device
/// replaces it and starts its tasks again (containment).
///
/// For devices in this process, the functions cost a comparison. Threads: any, except where a
/// comment says otherwise.
class lost_devices {
 public:
  /// Adds the next device. Call it only while the runtime starts.
  /// @param is_isolated  Whether it can be replaced.
  void add(context::context_handle const& context, device_inbound& inbound, bool is_isolated,
           restart_limit::options const& limit) {
    devices_.emplace_back(context, inbound, is_isolated, limit);
    any_isolated_ = any_isolated_ || devices_.back().recovery != nullptr;
  }

  [[nodiscard]] bool any_isolated() const noexcept { return any_isolated_; }
  [[nodiscard]] bool is_isolated(unsigned device) const noexcept {
    return device < devices_.size() && devices_[device].recovery != nullptr;
  }
  /// Returns whether a task of `device` must wait on the host for the end of a task of another
  /// device. The stream of an isolated device must not wait for another one, nor be waited for: the
  /// number of a lost task is reached although the task runs again, and a wait for another device
  /// looks like a kernel that hangs.
  [[nodiscard]] bool must_wait_on_host(unsigned device, unsigned other) const noexcept {
    return device != other && any_isolated_ && (is_isolated(device) || is_isolated(other));
  }

  /// Returns whether kernels on the device can access memory of the application at `address`, as
  /// far as isolation is concerned.
  [[nodiscard]] bool can_access(unsigned device, std::uintptr_t address) const {
    return !is_isolated(device) || devices_[device].recovery->can_access(
                                       devices_[device].context.where().driver_ordinal, address);
  }

  /// Notes that a call for an isolated device has returned a sticky status.
  void note(unsigned device, CUresult why) noexcept;
  /// Ends the worker process of an isolated device that is stuck.
  void kill(unsigned device) noexcept;
  /// Ends the worker process of an isolated device as a crash would. For fault injection.
  void crash(unsigned device) noexcept;
  /// Returns whether the isolated device must be replaced. False if it is quarantined.
  [[nodiscard]] bool is_lost(unsigned device) const noexcept {
    if (!is_isolated(device)) { return false; }
    watched_device const& one = devices_[device];
    if (is_quarantined(device)) { return false; }
    return one.why.load(std::memory_order_relaxed) != CUDA_SUCCESS ||
           one.recovery->is_lost(one.user());
  }
  /// Looks for a lost device that no thread has noticed, and announces work for it.
  void look() noexcept;

  [[nodiscard]] bool is_any_quarantined() const noexcept {
    // relaxed: a task that is submitted at the same time as the quarantine ends with its failure
    return quarantined_.load(std::memory_order_relaxed) != 0;
  }
  /// Returns whether the device runs no more tasks. Cost: one load if none is quarantined.
  [[nodiscard]] bool is_quarantined(unsigned device) const noexcept {
    // acquire: pairs with the release in quarantine
    return quarantined_.load(std::memory_order_acquire) != 0 && is_isolated(device) &&
           devices_[device].is_quarantined.load(std::memory_order_acquire);
  }
  /// Returns whether tasks that any device may run should go to other devices: this one is
  /// quarantined, and another one is not.
  [[nodiscard]] bool avoids(unsigned device) const noexcept {
    return quarantined_.load(std::memory_order_relaxed) != 0 && is_quarantined(device) &&
           !are_all_quarantined();
  }
  [[nodiscard]] bool are_all_quarantined() const noexcept {
    // acquire: pairs with the releases in quarantine, so the caller sees the failures
    return !devices_.empty() && quarantined_.load(std::memory_order_acquire) == devices_.size();
  }
  /// The failure of each task that a quarantined device gets. Call it only if `is_quarantined`.
  [[nodiscard]] std::shared_ptr<failure const> failure_of(unsigned device) const {
    return devices_[device].failure_of_all;
  }

  /// @throws device_fault  The device is quarantined, or `is_replaced` is false: it is too early to
  ///                       replace it.
  void check_usable(unsigned device, bool is_replaced) const;

  // ---- the holder of the device's lease ----

  /// The status of the fault, which is sticky.
  [[nodiscard]] CUresult status_of(unsigned device) const noexcept;
  [[nodiscard]] std::string reason_of(unsigned device) const;
  enum class decision { wait, replace, give_up };
  /// Decides what to do with a lost device, as restart_options say.
  [[nodiscard]] decision decide(unsigned device);
  /// Gives the device another worker process. Nothing of the old one runs then. The device counts
  /// as lost until `note_usable`.
  /// @return whether the device can be used again. If not, the caller must quarantine it.
  [[nodiscard]] bool replace(unsigned device) noexcept;
  /// Call it after all tasks of the old worker process have ended or were given up.
  void note_usable(unsigned device) noexcept;
  /// From now on, the device runs no more tasks.
  void quarantine(unsigned device, std::shared_ptr<failure const> why) noexcept;

 private:
  struct watched_device {
    watched_device(context::context_handle const& of, device_inbound& to, bool is_isolated,
                   restart_limit::options const& with)
        : context(of),
          inbound(to),
          recovery(is_isolated ? of.api().recovery : nullptr),
          limit(with) {}
    /// Other runtimes may use the device, too.
    [[nodiscard]] driver::device_recovery::user user() const noexcept {
      return {context.where().driver_ordinal, context.handle()};
    }
    context::context_handle const& context;
    device_inbound& inbound;
    driver::device_recovery* const recovery;  // null if the device is in this process
    restart_limit limit;                      // this and the next: used by the holder of the lease
    bool is_counted = false;                  // whether `limit` knows about the present loss
    std::atomic<CUresult> why{CUDA_SUCCESS};  // the first sticky status since the last replacement
    std::atomic<bool> is_quarantined{false};
    std::shared_ptr<failure const> failure_of_all;  // written before is_quarantined is set
  };

  std::deque<watched_device> devices_;
  bool any_isolated_ = false;
  std::atomic<std::size_t> quarantined_{0};  // the number of quarantined devices
};

}  // namespace flotilla::dispatch
