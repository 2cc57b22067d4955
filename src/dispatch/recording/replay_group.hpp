// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of a recording over several devices, and how far each of them is.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "dispatch/lane/progress_words.hpp"
#include "dispatch/task/failure.hpp"

namespace flotilla::dispatch {

/// Each part has a word. Replays are numbered from 1. In replay `r`, the part first writes base(r)
/// when it begins, and at each exchange base(r) plus the level of the exchange. So the values only
/// grow, and nobody resets them.
///
/// Threads: any.
class replay_group {
 public:
  /// @param devices  The device of each part.
  /// @param levels   Greater than the levels of all exchanges.
  replay_group(std::shared_ptr<progress_words> words, progress_words::row const& row,
               std::vector<unsigned> devices, std::uint32_t levels)
      : handled_(devices.size()),
        ended_(devices.size()),
        devices_(std::move(devices)),
        words_(std::move(words)),
        row_(row),
        levels_(levels) {}
  ~replay_group() { words_->give_back(row_); }
  replay_group(replay_group const&) = delete;
  replay_group& operator=(replay_group const&) = delete;

  [[nodiscard]] std::uint32_t parts() const noexcept {
    return static_cast<std::uint32_t>(handled_.size());
  }
  [[nodiscard]] bool uses(unsigned device) const noexcept {
    return std::find(devices_.begin(), devices_.end(), device) != devices_.end();
  }
  [[nodiscard]] std::span<unsigned const> devices() const noexcept { return devices_; }
  [[nodiscard]] std::uint64_t base(std::uint64_t replay) const noexcept { return replay * levels_; }
  /// The word of the first part. Those of the others follow, progress_words::stride bytes apart.
  [[nodiscard]] CUdeviceptr words() const noexcept { return row_.device; }
  [[nodiscard]] CUdeviceptr word(std::uint32_t part) const noexcept { return row_.address(part); }
  /// Lets the other parts of this replay continue, because this part does nothing more for it. The
  /// part's device must have ended its earlier replays.
  /// @param why  Why the part did not run, or not to its end.
  void give_up(std::uint32_t part, std::uint64_t replay,
               std::shared_ptr<failure const> why) noexcept;
  /// Returns why a part has given up this replay; null if none has.
  [[nodiscard]] std::shared_ptr<failure const> failure_of(std::uint64_t replay) const noexcept;
  /// Notes that the part has ended this replay.
  void note_end(std::uint32_t part, std::uint64_t replay) noexcept {
    ended_[part].store(replay, std::memory_order_relaxed);
  }
  /// Returns whether another part has neither ended this replay nor come as far as this part.
  [[nodiscard]] bool is_ahead(std::uint32_t part) const noexcept;

  /// The last replay of the part that was launched or given up. Only replay_turns changes it.
  [[nodiscard]] std::atomic<std::uint64_t>& handled(std::uint32_t part) noexcept {
    return handled_[part];
  }
  [[nodiscard]] bool has_handled(std::uint32_t part, std::uint64_t replay) const noexcept {
    // relaxed: only the device of the part changes it
    return handled_[part].load(std::memory_order_relaxed) >= replay;
  }

 private:
  std::vector<std::atomic<std::uint64_t>> handled_;  // by part
  std::vector<std::atomic<std::uint64_t>> ended_;    // by part: the last replay
  std::vector<unsigned> const devices_;              // by part
  // Shared, because a recording may outlive its runtime.
  std::shared_ptr<progress_words> const words_;
  progress_words::row const row_;
  std::uint64_t const levels_;
  std::mutex mutable mutex_;
  struct given_up {
    std::uint64_t replay;
    std::shared_ptr<failure const> why;
  };
  std::vector<given_up> given_up_;  // replays that a part may still begin; guarded by mutex_
};

}  // namespace flotilla::dispatch
