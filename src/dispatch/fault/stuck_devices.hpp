// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds devices on which launched work does not end.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "context/context_handle.hpp"
#include "dispatch/fault/lost_devices.hpp"
#include "dispatch/fault/task_text.hpp"
#include "dispatch/lane/lane_set.hpp"
#include "dispatch/lane/stream_health.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// Looks now and then at the oldest batch of each lane. If it is the same batch for too long, the
/// device is stuck until this batch ends, or, if it is isolated, its worker process is ended. Each
/// time that a device becomes stuck, prints the tasks of the batch on stderr. But if the stream of
/// the lane is empty, only the completion number of the batch was lost, and the batch ends. This
/// does not happen for callables, and not on isolated devices, whose worker process is replaced. A
/// device is not stuck because a part of a replay waits there for a part on another device.
/// Threads: any.
class stuck_devices {
 public:
  using clock = std::chrono::steady_clock;

  stuck_devices(task_table const& tasks, completion_board const& board, task_text const& text,
                recorded_parts const& recordings, lost_devices& lost)
      : tasks_(tasks), board_(board), text_(text), recordings_(recordings), lost_(lost) {}
  /// Calls read() while no launched task of a device ends, so that its slot can be read.
  /// @return false if that is impossible now. Then nothing was called.
  using slot_reader = std::function<bool(std::function<void()> const& read)>;
  /// Adds the next device. Call it only while the runtime starts.
  /// @param limit  A batch that is the oldest of its lane for longer is stuck. Zero: never.
  void add(lane_set const& lanes, stream_health& streams, context::context_handle const& context,
           clock::duration limit, slot_reader with_slots);

  [[nodiscard]] bool is_active() const noexcept { return min_limit_ > clock::duration::zero(); }
  /// The interval at which a thread should call `look`.
  [[nodiscard]] clock::duration interval() const noexcept;
  /// Looks at all devices, unless another thread does so or has just done so.
  void look() noexcept;

  [[nodiscard]] bool is_stuck(unsigned device) const noexcept {
    return devices_[device].is_stuck.load(std::memory_order_relaxed);
  }
  /// Returns whether tasks that any device may run should go to other devices: this one is stuck
  /// or quarantined, and another one is not. Cost: two loads if no device is.
  [[nodiscard]] bool avoids(unsigned device) const noexcept {
    std::size_t const stuck = count_.load(std::memory_order_relaxed);
    if (lost_.avoids(device)) [[unlikely]] { return true; }
    return stuck != 0 && stuck != devices_.size() && is_stuck(device);
  }

 private:
  struct seen_batch {
    std::uint64_t number = lane::no_number;
    clock::time_point since{};
  };
  struct watched_device {
    watched_device(lane_set const& of, stream_health& with, context::context_handle const& where,
                   clock::duration after, slot_reader reader) noexcept
        : lanes(of), streams(with), context(where), limit(after), with_slots(std::move(reader)) {}
    lane_set const& lanes;
    stream_health& streams;
    context::context_handle const& context;
    clock::duration const limit;
    slot_reader const with_slots;
    std::array<seen_batch, lane_layout::all_lanes> oldest;  // by lane; guarded by looking_
    std::atomic<bool> is_stuck{false};                      // written with looking_ locked
  };

  /// What the slots of a batch say.
  struct batch_tasks {
    std::string text = "tasks that are unknown, because a thread is inside a call for the device";
    bool is_ahead = false;  // see is_ahead_of_others
  };

  void look_at(watched_device& device, clock::time_point now) noexcept;
  /// Reads the slots of a batch. Empty if they cannot be read now, or the batch has ended.
  [[nodiscard]] std::optional<batch_tasks> tasks_of(watched_device const& device,
                                                    end_mark oldest) const noexcept;
  /// Returns the end mark of the lane's oldest batch in flight, or an invalid mark.
  [[nodiscard]] end_mark oldest_of(lane_set const& lanes, unsigned index) const noexcept;
  /// Call these two in watched_device::with_slots.
  [[nodiscard]] std::string tasks_at(watched_device const& device, end_mark stuck) const;
  /// Returns whether the batch is a part of a replay that has come farther than another part. Then
  /// it waits, or will wait, for the device of that part.
  [[nodiscard]] bool is_ahead_of_others(end_mark oldest) const;
  /// Ends the worker process of an isolated device that is stuck, unless it is lost already.
  void end_worker(watched_device& device, end_mark stuck, batch_tasks const& tasks,
                  clock::duration time) noexcept;
  static void report(watched_device const& device, batch_tasks const& tasks,
                     clock::duration time) noexcept;
  /// Ends a batch whose completion number was lost.
  /// @return false if it was not, so the device is stuck; empty if another thread asks the streams
  [[nodiscard]] static std::optional<bool> end_unreported(watched_device& device, end_mark oldest,
                                                          batch_tasks const& tasks) noexcept;

  clock::duration min_limit_{0};  // of all devices that have a limit; zero if none has one
  task_table const& tasks_;
  completion_board const& board_;
  task_text const& text_;
  recorded_parts const& recordings_;
  lost_devices& lost_;
  std::deque<watched_device> devices_;
  std::mutex looking_;
  std::atomic<std::int64_t> next_look_{0};  // a count of clock ticks
  std::atomic<std::size_t> count_{0};       // of stuck devices
};

}  // namespace flotilla::dispatch
