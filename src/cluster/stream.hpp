// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The transfers of one flow between this rank and one other rank.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cluster/message.hpp"
#include "cluster/transfer.hpp"

namespace flotilla::cluster_ranks {

/// Which numbers a receiver has taken, and what it has told the sender.
///
/// A sender sends a transfer only if fewer than `window` numbers lie between it and the first one
/// that the receiver has not taken. So the memory of the receiver for transfers that nobody has
/// asked for yet is bounded. The first transfer that was not taken is always allowed, and all that
/// it depends on comes before it in the program. So no order of arrivals can deadlock
/// (tests/unit/cluster/window_model_test.cpp).
class number_window {
 public:
  static constexpr std::uint64_t default_window = 1024;
  static constexpr std::uint64_t default_report = default_window / 4;

  /// @param window        How many numbers the sender may be ahead.
  /// @param report_after  After how many taken numbers the sender must know; less than `window`.
  explicit number_window(std::uint64_t window = default_window,
                         std::uint64_t report_after = default_report) noexcept
      : window_(window), report_after_(report_after) {}

  /// Returns whether a transfer can be taken: it was not taken before, and the sender may have sent
  /// it.
  [[nodiscard]] bool expects(std::uint64_t number) const noexcept {
    return number >= low_ && number - low_ < window_ && !above_.contains(number);
  }
  void take(std::uint64_t number) {
    if (number != low_) {
      above_.insert(number);
      return;
    }
    ++low_;
    while (!above_.empty() && *above_.begin() == low_) {
      above_.erase(above_.begin());
      ++low_;
    }
  }
  /// Returns the number below which all were taken, if it is time to tell the sender.
  [[nodiscard]] std::optional<std::uint64_t> report() noexcept {
    if (low_ - reported_ < report_after_) { return std::nullopt; }
    reported_ = low_;
    return low_;
  }

 private:
  std::uint64_t window_;
  std::uint64_t report_after_;
  std::uint64_t low_ = 0;  // all below were taken
  std::uint64_t reported_ = 0;
  std::set<std::uint64_t> above_;  // taken, and above low_
};

/// A transfer that has arrived, but that this rank has not asked for yet.
struct arrived_record {
  record what;
  std::vector<std::byte> payload;
};

struct stream {
  // To the other rank:
  std::uint64_t acknowledged = 0;                           // the other rank has taken all below
  std::map<std::uint64_t, std::unique_ptr<transfer>> held;  // outside the window
  // From the other rank:
  number_window taken;
  std::map<std::uint64_t, arrived_record> arrived;
  std::map<std::uint64_t, std::unique_ptr<transfer>> waiting;

  [[nodiscard]] bool may_send(std::uint64_t number) const noexcept {
    return number < acknowledged + number_window::default_window;
  }
};

}  // namespace flotilla::cluster_ranks
