// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The lanes of one device.

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/cache_line.hpp"
#include "context/context_handle.hpp"
#include "dispatch/lane/completion_board.hpp"
#include "dispatch/lane/event_pool.hpp"
#include "dispatch/lane/lane.hpp"
#include "dispatch/lane/lane_bits.hpp"
#include "dispatch/lane/lane_layout.hpp"
#include "dispatch/lane/launch_counts.hpp"
#include "driver/call_outcome.hpp"

namespace flotilla::dispatch {

/// Threads: only the holder of the device's lease, except for the section "any thread".
class alignas(base::cache_line) lane_set {
 public:
  // The maximum number of launches of level 0 in flight. Launches of higher levels need no such
  // limit, because their few lanes already limit them.
  static constexpr std::size_t max_launches_in_flight = 4096;

  /// Opens the lanes of level 0. Call it with the context current.
  /// @param launch_lanes   The number of lanes for launches of level 0.
  /// @param watches_waits  Whether a lane whose stream waits for another lane can tell that its
  /// earlier work has ended, even if the device loses the number of this work (wait_events).
  /// @throws driver_error
  lane_set(context::context_handle const& context, completion_page& page,
           completion_board const& board, unsigned device, unsigned launch_lanes,
           bool watches_waits);
  void destroy() noexcept;

  [[nodiscard]] lane& operator[](unsigned index) noexcept { return *lanes_[index]; }
  [[nodiscard]] lane const& operator[](unsigned index) const noexcept { return *lanes_[index]; }
  [[nodiscard]] unsigned launch_lanes() const noexcept { return launch_lanes_; }
  [[nodiscard]] unsigned device() const noexcept { return device_; }

  // ---- before a launch ----

  /// Opens the lane if it is closed. Then makes its stream wait for every mark that is not reached
  /// yet. Skips `except` and marks of this lane.
  [[nodiscard]] driver::call_outcome enqueue_waits(lane& lane, std::span<end_mark const> marks,
                                                   end_mark except = {});
  /// Returns whether another launch of this level may begin.
  [[nodiscard]] bool has_room(priority_level level) const noexcept {
    return level != 0 || counts_.launches - counts_.urgent_launches < max_launches_in_flight;
  }
  /// The arguments of `find_lane`.
  struct choice {
    priority_level level = 0;
    unsigned lanes = lane_layout::launch_lanes;  // the number of lanes to choose from
    unsigned batches = 4;                        // a lane with this many batches in flight is full
    std::uint64_t excluded = 0;                  // the set of lanes that must not be chosen
    unsigned after = 0;                          // the lane that was chosen last
  };
  /// Returns the launch lane with the fewest batches in flight, or no_lane if every lane is full or
  /// excluded.
  [[nodiscard]] unsigned find_lane(choice const& wanted) const noexcept;

  // ---- after a launch ----

  /// Counts a committed batch of a launch lane.
  void add(lane const& lane, lane::batch const& batch) noexcept;
  /// Marks the lane as busy: its stream holds work, so `retire` must check the lane.
  void set_busy(lane const& lane) noexcept { busy_.insert(lane.index()); }
  /// Removes every batch that has ended. Before a batch is removed, calls `end(lane, batch, took)`.
  /// `took` is the time since the batch began or since the previous batch of the lane ended,
  /// whichever time is shorter. Returns whether any batch was removed.
  template <class End>
  bool retire(End&& end);
  /// Calls `visit(lane)` for each lane with work in flight.
  template <class Visit>
  void for_each_busy(Visit&& visit) {
    busy_.visit([&](unsigned index) {
      visit(*lanes_[index]);
      return true;
    });
  }
  [[nodiscard]] bool any_busy() const noexcept { return !busy_.empty(); }
  [[nodiscard]] bool any_done();
  /// The number of launches in flight.
  [[nodiscard]] std::size_t launches_in_flight() const noexcept { return counts_.launches; }
  [[nodiscard]] bool any_long_running() const noexcept { return counts_.long_running_batches != 0; }
  [[nodiscard]] launch_counts const& counts() const noexcept { return counts_; }
  /// Whether no batch in flight is long-running or waits for another device.
  [[nodiscard]] bool is_prompt() const noexcept {
    return !any_long_running() && batches_waiting_on_device() == 0;
  }
  [[nodiscard]] std::uint32_t batches_waiting_on_device() const noexcept {
    return counts_.waiting_batches;
  }
  [[nodiscard]] std::uint64_t busy_launch_lanes() const noexcept {
    return busy_.first_word() & lane_layout::launch_lane_set;
  }

  // ---- any thread ----

  /// Returns whether batches were in flight at the last call of `publish_busy` or `retire`.
  [[nodiscard]] bool has_batches() const noexcept {
    // acquire: pairs with the release in publish_busy
    return has_batches_.load(std::memory_order_acquire);
  }
  /// Returns whether a batch has ended and no thread has retired it yet. The answer may be out of
  /// date.
  [[nodiscard]] bool any_ended() const noexcept;
  void publish_busy() noexcept { has_batches_.store(!busy_.empty(), std::memory_order_release); }
  /// Blocks until everything that is now in the lane's stream has ended. Not for lanes of
  /// callables, because recording an event would break a capture by user code.
  [[nodiscard]] CUresult sleep_until_done(unsigned lane);

 private:
  context::context_handle const& context_;
  completion_board const& board_;
  unsigned const device_;
  unsigned const launch_lanes_;
  bool const is_gpu_;
  bool const watches_waits_;
  std::deque<wait_events> waits_;  // by lane
  std::vector<std::unique_ptr<lane>> lanes_;
  event_pool blocking_events_;

  // Only for the holder of the lease:
  lane_bits busy_;  // the lanes with work in flight
  launch_counts counts_;
  bool has_urgent_launches_ = false;  // whether this GPU ever had an urgent launch

  std::atomic<bool> has_batches_{false};  // written by the holder of the lease
};

template <class End>
bool lane_set::retire(End&& end) {
  bool moved = false;
  busy_.visit([&](unsigned index) {
    lane& lane = *lanes_[index];
    while (lane::batch* const done = lane.done()) {
      auto const now = std::chrono::steady_clock::now();
      auto const took = now - std::max(done->begun, lane.last_end());
      lane.set_last_end(now);
      end(lane, *done, took);
      counts_.remove(lane, *done);
      lane.drop();
      moved = true;
    }
    if (lane.in_flight() == 0) { busy_.erase(index); }
    return true;
  });
  publish_busy();
  return moved;
}

}  // namespace flotilla::dispatch
