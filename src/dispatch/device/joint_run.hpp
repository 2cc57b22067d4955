// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launches waves of several devices as grids that wait for each other.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "context/peers.hpp"
#include "dispatch/batching/open_waves.hpp"
#include "dispatch/device/wave_flusher.hpp"
#include "dispatch/grid/grid_order.hpp"
#include "dispatch/grid/order_records.hpp"

namespace flotilla::dispatch {

/// Steps of tasks on several devices would need a launch and a wait for each step on each device.
/// So in a joint pass, up to 16 waves of a device become one ordered grid (ordered_launcher), and
/// the grids of all devices, a *run*, are launched one after another. A task waits for the words of
/// its own predecessors, also in the memory of other devices, and also in the grids of the run
/// before.
///
/// **Why this cannot deadlock.** All runs in flight on a device are in one lane. The streams of all
/// grids of a run wait for everything that any task of the run must wait for and that is not in
/// this run or the one before, and for everything that was ahead of the run before. So when a grid
/// of run *n* begins, all that runs up to *n* need from outside has ended, and run *n* - 2 too.
/// Consider the oldest run that has not ended. What its grids wait for is in themselves: the run
/// before has ended. Blocks take their tasks in the order of the waves. So for a task of the first
/// wave that has not ended, all that it waits for has ended, and on its device only blocks of
/// earlier tasks can be in its way, and they end. A grid of the next run can be there only if the
/// grid of this run has ended there. Other launches on a device end without the run.
///
/// If the devices of a run were not in the run before, or something else was launched in their
/// lanes, the streams of all grids wait for all that is in the lanes of all of them.
///
/// A stream may also wait for a task that was never launched behind this wait. While it may, its
/// lane is in no run (lane::has_open_waits).
///
/// **A refused launch.** No task of a run begins before all grids are launched. If the driver
/// refuses one, the blocks of the others end at once, and all tasks start again.
///
/// Threads: only the thread that holds the leases of all members.
class joint_run {
 public:
  enum class outcome {
    none,      // the waves must be launched in another way
    launched,  // the waves of the run are launched; the devices may have others
    refused,   // the tasks of the run start again
  };
  /// Makes the context of a device current. @return false if the driver has refused it
  using make_current = std::function<bool(unsigned device)>;

  /// @param host  The device that the thread drains.
  joint_run(std::size_t devices, unsigned host, context::peer_table const& peers)
      : host_(host),
        peers_(peers),
        orders_(devices),
        orders_before_(devices),
        grids_(devices),
        grids_before_(devices) {}

  /// Launches what can be launched together, from `wave` on. All earlier waves are launched.
  [[nodiscard]] outcome launch(unsigned wave, std::span<wave_flusher* const> members,
                               make_current const& current);

 private:
  struct part {
    wave_flusher* flusher;
    unsigned lane;
    bool has_ended;  // whether later waves cannot be in the run
    [[nodiscard]] bool is_empty() const noexcept { return lane == lane_layout::no_lane; }
  };
  /// Fills `parts_`. @return whether some of their tasks wait for each other
  [[nodiscard]] bool find(unsigned wave, std::span<wave_flusher* const> members);
  [[nodiscard]] bool reach_each_other() const;
  /// Whether all parts were in the same run before, and nothing was launched behind it. Fills
  /// `orders_before_` and `grids_before_`.
  [[nodiscard]] bool follow_last_run();
  void add_wave(unsigned wave, part& to);
  [[nodiscard]] bool contains(place_elsewhere const& ahead) const noexcept;
  /// Whether the run waits for all that is launched in the lane of the mark.
  [[nodiscard]] bool is_lane_of_part(end_mark mark) const noexcept;
  /// Begins all parts. @return false if there is no room or memory; nothing has changed then.
  [[nodiscard]] bool begin(make_current const& current);
  /// Fills `marks_`.
  void find_marks();
  /// Calls `action(flusher)` for each part, with its context current, until one of them returns
  /// false or a context cannot be made current. Abandons the parts behind it.
  /// @return for how many it succeeded
  template <class Action>
  std::size_t do_parts(make_current const& current, Action const& action);

  unsigned const host_;
  context::peer_table const& peers_;
  std::vector<part> parts_;
  unsigned first_wave_ = 0;
  bool follows_ = false;      // see follow_last_run
  std::uint64_t number_ = 0;  // of the last run
  // By device; null or empty for devices that are not in the run:
  std::vector<grid_order*> orders_, orders_before_;
  std::vector<ordered_part> grids_, grids_before_;
  std::vector<end_mark> marks_, marks_of_part_;  // what must end before the run begins
};

}  // namespace flotilla::dispatch
