// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses how several waves of one kernel are launched: as one ordered grid, or a grid for each
// wave.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace flotilla::dispatch {

/// When waves that can be an ordered grid are launched as one. `by_device` is `if_faster` on GPUs,
/// and `never` on CPU devices, which run the tasks of a grid one after another.
enum class order_use { never, by_device, if_faster, always };

/// Tries both for one kernel on one device, and keeps the faster one. With a grid for each wave, a
/// task waits for the slowest task of the wave before. So an ordered grid is faster if the tasks of
/// a wave take different times. This shows only in the times of whole runs: a measured wave takes
/// as long as its slowest task.
///
/// An ordered grid also costs the host more, so it must be clearly faster on the device. Later it
/// tries the other way again: after few runs at first, then more and more rarely. Threads: only the
/// holder of the device's lease.
class order_choice {
 public:
  /// Begins a run that can be ordered. Returns whether it should be.
  [[nodiscard]] bool begin_run() noexcept {
    bool const is_trial = runs_until_trial_ == 0;
    wants_sample_ = is_trial;
    if (!waves_.is_known()) { return false; }
    if (is_trial) { return !prefers_order_; }
    --runs_until_trial_;
    return prefers_order_;
  }
  /// Returns whether ordered grids were faster.
  [[nodiscard]] bool prefers_order() const noexcept { return prefers_order_; }
  /// Returns whether the run that was begun last should be measured. Only once for each run.
  [[nodiscard]] bool take_wish_for_sample() noexcept { return std::exchange(wants_sample_, false); }

  /// Adds the measurement of a run that could be ordered.
  /// @param wave_ns  The time of the run, divided by its waves.
  void note(bool ordered, float wave_ns) noexcept {
    (ordered ? ordered_ : waves_).add(wave_ns);
    if (!waves_.is_known() || runs_until_trial_ != 0) { return; }
    bool const is_of_trial = ordered != prefers_order_;
    if (is_of_trial && ordered_.is_known()) {
      end_trial(ordered_.ns() < max_part * waves_.ns());
    } else if (!is_of_trial && ++other_samples_ == max_other_samples) {
      end_trial(prefers_order_);
    }
  }

 private:
  // An ordered grid must take less than this part of the time of the waves. If all tasks take the
  // same time, it saves at most the 4 us between two graphs.
  static constexpr float max_part = 0.93F;
  static constexpr std::uint32_t first_interval = 8;
  static constexpr std::uint32_t max_interval = 4096;
  // A run that should be ordered may have too many edges. So a trial ends after this many samples
  // of runs that were launched the other way.
  static constexpr std::uint32_t max_other_samples = 4;

  /// The median of the last samples. A run may have waited for other work, or may have had few
  /// tasks in its waves.
  class estimate {
   public:
    void add(float ns) noexcept {
      if (std::exchange(is_old_, false)) { count_ = 0; }
      samples_[next_++ % samples_.size()] = ns;
      count_ = std::min(count_ + 1, samples_.size());
    }
    [[nodiscard]] bool is_known() const noexcept { return count_ == samples_.size(); }
    [[nodiscard]] float ns() const noexcept {
      auto sorted = samples_;
      auto const middle = sorted.begin() + sorted.size() / 2;
      std::nth_element(sorted.begin(), middle, sorted.end());
      return *middle;
    }
    void forget_at_next() noexcept { is_old_ = true; }

   private:
    std::array<float, 5> samples_{};
    std::size_t next_ = 0;
    std::size_t count_ = 0;  // of the samples that count
    bool is_old_ = false;
  };

  void end_trial(bool order_is_better) noexcept {
    bool const is_same = order_is_better == prefers_order_;
    interval_ = is_same ? std::min(2 * interval_, max_interval) : first_interval;
    prefers_order_ = order_is_better;
    runs_until_trial_ = interval_;
    other_samples_ = 0;
    (prefers_order_ ? waves_ : ordered_).forget_at_next();  // the next trial is measured anew
  }

  estimate waves_, ordered_;
  bool prefers_order_ = false;
  bool wants_sample_ = false;
  std::uint32_t other_samples_ = 0;  // since the trial began
  std::uint32_t interval_ = first_interval;
  std::uint32_t runs_until_trial_ = 0;
};

}  // namespace flotilla::dispatch
