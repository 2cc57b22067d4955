// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides whether a device that was lost may be replaced again, and when.

#include <chrono>
#include <cstddef>
#include <vector>

namespace flotilla::dispatch {

/// The terms are those of OTP's supervisors. Not thread-safe.
class restart_limit {
 public:
  using clock = std::chrono::steady_clock;
  struct options {
    std::size_t intensity;  // losses in a period; one more is too many
    clock::duration period;
    clock::duration back_off;  // between a loss and its replacement, if it is not the only one
  };

  explicit restart_limit(options const& with) noexcept : with_(with) {}

  /// Notes a loss. @return whether the device may be replaced.
  [[nodiscard]] bool note_loss(clock::time_point now) {
    std::erase_if(losses_, [&](clock::time_point each) { return now - each >= with_.period; });
    losses_.push_back(now);
    return losses_.size() <= with_.intensity;
  }
  /// Returns when the device may be replaced after the last loss.
  [[nodiscard]] clock::time_point not_before() const noexcept {
    if (losses_.empty()) { return {}; }
    return losses_.back() + (losses_.size() > 1 ? with_.back_off : clock::duration::zero());
  }

 private:
  options const with_;
  // A vector, which allocates nothing for devices that are never lost.
  std::vector<clock::time_point> losses_;  // in the last period, at most intensity + 1
};

}  // namespace flotilla::dispatch
