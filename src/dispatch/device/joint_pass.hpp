// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Drives several devices at once, because their tasks depend on each other.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "context/lease.hpp"
#include "dispatch/batching/joint_waves.hpp"
#include "dispatch/device/current_member.hpp"
#include "dispatch/device/joint_memory.hpp"
#include "dispatch/device/joint_run.hpp"

namespace flotilla::dispatch {

class device_driver;
class device_set;

/// The passes of a drain. A thread drains one device, the *host*. If a task has several
/// predecessors, some of them on other devices and not ended, the thread also takes the leases of
/// these devices, the *guests*, and keeps them until the drain ends or a callable must run. The
/// waves of all these devices are launched together: wave 0 of each, then wave 1 of each, and so on
/// (joint_waves). A launch waits only for earlier launches, as without guests.
///
/// Without guests, the functions do what the host would do alone, at no cost.
///
/// A callable may block, so no callable runs while the thread has guests. If two threads want each
/// other's device, the one whose device has the smaller index waits a moment for the lease of the
/// other, which ends its drain.
///
/// Threads: only the thread that holds the lease of the host.
class joint_pass {
 public:
  /// @param count  How many devices the runtime has.
  joint_pass(device_set const& devices, std::size_t count, context::peer_table const& peers,
             device_driver& host);
  ~joint_pass();
  joint_pass(joint_pass const&) = delete;
  joint_pass& operator=(joint_pass const&) = delete;

  /// A drain of the host. The constructor makes the context of the host current. The destructor
  /// pops it, and gives the leases of the guests back.
  class drain {
   public:
    /// @throws driver_error
    explicit drain(joint_pass& of);
    ~drain();
    drain(drain const&) = delete;
    drain& operator=(drain const&) = delete;

   private:
    joint_pass& of_;
  };

  [[nodiscard]] bool has_guests() const noexcept { return members_.size() > 1; }
  /// Takes the devices whose tasks were followed a moment ago. Call it first in each pass.
  void invite();
  /// Begins a pass of the guests. @return whether it made progress.
  /// @throws driver_error, like the next functions  The context of the host cannot be made current
  /// again.
  bool begin();
  /// Takes the devices that the host waits for, and the new tasks of all members, until there are
  /// no more or they fill a launch. @return whether there were any.
  bool take_more();
  /// Launches the open batches of all members.
  void flush_all();
  /// Ends the pass of the guests. Keeps their leases, unless a guest has work that must not wait or
  /// another thread wants it.
  void end();
  /// Gives the leases of the guests back. Their open batches must be launched.
  void leave();
  /// Whether new tasks of a guest have arrived.
  [[nodiscard]] bool is_announced() const noexcept;
  /// Whether the drain should end, because another thread is about to drive the host as a guest.
  [[nodiscard]] bool must_yield() const noexcept { return must_yield_; }
  // ---- for the wave_flusher of a member ----

  /// Launches the open batches of the waves before `wave` of all members. Then makes the context of
  /// `caller` current again.
  void flush_before(unsigned wave, unsigned caller);
  /// Takes the tasks of later waves of all members but `caller` out of their open batches, because
  /// they may depend on tasks of `caller` that were not launched.
  void abandon_waves_after(unsigned wave, unsigned caller);

 private:
  struct guest_leases;

  using clock = std::chrono::steady_clock;

  /// Notes which devices have tasks that tasks of the members follow.
  void note_followed();
  /// Takes the leases of these devices. @return whether there is a new guest.
  bool join();
  /// Notes whether the members have room for tasks that follow others.
  void note_room();
  /// Begins a pass of the members from this index on. @return whether it made progress.
  bool begin_from(std::size_t first);
  [[nodiscard]] std::optional<context::lease> take(device_driver& other);
  /// Makes all members know each other, or forget each other.
  void introduce(bool joint);
  /// Makes the context of the member current. @return false if the driver has refused it.
  [[nodiscard]] bool make_current(device_driver const& member);
  void return_to_host();
  void flush_wave(unsigned wave);
  /// Launches what can be launched as grids that wait for each other, from `wave` on.
  void launch_together(unsigned wave);
  /// Starts the tasks that can follow tasks of open batches.
  void settle();
  /// Takes the tasks of all members out of their open batches, because the context of one of them
  /// cannot be made current. From now on each member is driven alone.
  void give_up();

  device_set const& devices_;
  device_driver& host_;
  joint_waves waves_;
  joint_run run_;
  std::vector<wave_flusher*> flushers_;         // of the members
  bool may_run_together_ = true;                // false after a refused launch, until the next pass
  std::unique_ptr<guest_leases> const leases_;  // allocates nothing later
  std::vector<device_driver*> members_;         // the host is the first
  current_member current_;
  bool has_given_up_ = false;
  bool has_waited_ = false;  // for the lease of a guest
  bool may_join_ = true;
  bool was_refused_ = false;  // whether another thread had a lease that this one wanted
  std::optional<clock::time_point> refused_since_;
  clock::time_point room_since_{};  // when all members last had room, or a batch ended
  joint_memory memory_;
  bool must_yield_ = false;
};

}  // namespace flotilla::dispatch
