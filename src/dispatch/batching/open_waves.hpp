// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The open batches of one device.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "dispatch/batching/open_batch.hpp"
#include "dispatch/lane/lane_layout.hpp"

namespace flotilla::dispatch {

/// The open batches form *waves*. All predecessors of the tasks in wave 0 are launched. A task in
/// any later wave has a predecessor in an open batch of an earlier wave. Waves are launched in
/// their order, so the lane of a batch can wait for batches of earlier waves. One wave has at most
/// one open batch for each lane, and successive waves in one lane need no wait. A wave without
/// batches can be before other waves, if tasks follow tasks of other devices (joint_waves).
///
/// Threads: only the holder of the device's lease.
class open_waves {
 public:
  // A pass takes at most 64 tasks at once, so most waves are of one pass. A task that would begin a
  // later wave has to wait until the open waves are launched.
  static constexpr unsigned max_waves = 16;

  static constexpr std::uint32_t max_taken_at_once = 64;  // tasks, see intake

  // The maximum number of batches that the launch of an open batch begins: at most six templates,
  // which write at most 22 completion numbers in total.
  static constexpr std::size_t max_batches_of_flush = 22;

  open_waves() { waves_.push_back(std::make_unique<open_wave>()); }

  /// The number of waves that may have open batches.
  [[nodiscard]] unsigned count() const noexcept { return count_; }
  [[nodiscard]] open_batch& at(batch_place where) noexcept {
    return waves_[where.wave]->batches[where.lane];
  }
  [[nodiscard]] open_batch const& at(batch_place where) const noexcept {
    return waves_[where.wave]->batches[where.lane];
  }
  /// The set of lanes that have an open batch in this wave.
  [[nodiscard]] std::uint64_t lanes(unsigned wave) const noexcept {
    return wave < count_ ? waves_[wave]->open : 0;
  }
  [[nodiscard]] bool is_open(batch_place where) const noexcept {
    return (lanes(where.wave) & bit_of(where.lane)) != 0;
  }
  /// The set of lanes that have an open batch.
  [[nodiscard]] std::uint64_t lanes() const noexcept;
  /// The number of open batches of a lane.
  [[nodiscard]] unsigned batches_of(unsigned lane) const noexcept;
  /// Returns whether the waves, if there are several, have almost as many tasks as one graph of
  /// grids may have. With a few more tasks, the last steps would need a graph of their own.
  [[nodiscard]] bool fill_a_run() const noexcept;
  [[nodiscard]] static std::uint64_t bit_of(unsigned lane) noexcept {
    return std::uint64_t{1} << lane;
  }
  /// The number of open batches that begin with a wait for another device.
  [[nodiscard]] std::uint32_t device_waits() const noexcept { return device_waits_; }

  /// Notes that the batch at `where` was launched, and got this number in its lane.
  void note_launched(batch_place where, std::uint64_t number) noexcept {
    waves_[where.wave]->numbers[where.lane] = number;
  }
  /// Returns the number of the batch that was launched last at this place.
  [[nodiscard]] std::uint64_t number(batch_place where) const noexcept {
    return waves_[where.wave]->numbers[where.lane];
  }

  /// Makes the wave `wave` usable, which must be below max_waves.
  /// @throws std::bad_alloc
  void reach(unsigned wave);
  /// Marks the batch as open. Its traits must not change any more.
  void open(batch_place where) noexcept;
  /// Makes the open batch begin with a wait for another device.
  void wait_on_device(batch_place where, end_mark what) noexcept;
  /// Closes the batch and empties it. Its tasks remain in the array until the next task is added.
  void close(batch_place where) noexcept;
  /// Closes all batches of the waves after `wave`.
  void close_after(unsigned wave) noexcept;
  /// Closes all batches.
  void close_all() noexcept;
  /// Calls `visit(place)` for each open batch, in the order of the waves.
  template <class Visit>
  void visit(Visit&& visit) const;

 private:
  struct open_wave {
    std::array<open_batch, lane_layout::first_callable> batches;
    std::array<std::uint64_t, lane_layout::first_callable> numbers{};  // see note_launched
    std::uint64_t open = 0;  // the set of lanes whose batch has tasks
  };
  std::vector<std::unique_ptr<open_wave>> waves_;  // the first `count_` are in use
  unsigned count_ = 1;
  std::uint32_t device_waits_ = 0;
};

inline std::uint64_t open_waves::lanes() const noexcept {
  std::uint64_t all = 0;
  for (unsigned i = 0; i < count_; ++i) { all |= waves_[i]->open; }
  return all;
}

inline unsigned open_waves::batches_of(unsigned lane) const noexcept {
  unsigned found = 0;
  for (unsigned i = 0; i < count_; ++i) {
    found += static_cast<unsigned>(waves_[i]->open >> lane & 1);
  }
  return found;
}

template <class Visit>
void open_waves::visit(Visit&& visit) const {
  for (unsigned wave = 0; wave < count_; ++wave) {
    for (std::uint64_t left = waves_[wave]->open; left != 0; left &= left - 1) {
      visit(batch_place{wave, static_cast<unsigned>(std::countr_zero(left))});
    }
  }
}

inline bool open_waves::fill_a_run() const noexcept {
  if (count_ == 1) { return false; }
  std::uint32_t tasks = 0;
  visit([&](batch_place where) { tasks += at(where).count; });
  return tasks + max_taken_at_once > lane::max_tasks;
}

inline void open_waves::reach(unsigned wave) {
  while (wave >= waves_.size()) { waves_.push_back(std::make_unique<open_wave>()); }
  count_ = std::max(count_, wave + 1);
}

inline void open_waves::open(batch_place where) noexcept {
  if (is_open(where)) { return; }
  waves_[where.wave]->open |= bit_of(where.lane);
  if (at(where).traits.device_wait.valid()) { ++device_waits_; }
}

inline void open_waves::wait_on_device(batch_place where, end_mark what) noexcept {
  end_mark& waits = at(where).traits.device_wait;
  if (!waits.valid() && what.valid()) { ++device_waits_; }
  if (what.valid()) { waits = what; }
}

inline void open_waves::close(batch_place where) noexcept {
  if (at(where).traits.device_wait.valid()) { --device_waits_; }
  at(where).reset();
  waves_[where.wave]->open &= ~bit_of(where.lane);
  while (count_ > 1 && waves_[count_ - 1]->open == 0) { --count_; }
}

inline void open_waves::close_all() noexcept {
  close_after(0);
  while (std::uint64_t const open = waves_[0]->open) {
    close({0, static_cast<unsigned>(std::countr_zero(open))});
  }
}

inline void open_waves::close_after(unsigned wave) noexcept {
  while (count_ > wave + 1) {
    std::uint64_t const open = waves_[count_ - 1]->open;  // not empty, as `close` sees to
    close({count_ - 1, static_cast<unsigned>(std::countr_zero(open))});
  }
}

}  // namespace flotilla::dispatch
