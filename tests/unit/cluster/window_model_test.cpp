// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A model of the windows of transfers between two ranks: no order of events may deadlock, whatever
// the transfers wait for. It tries all short programs.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cluster/stream.hpp"

namespace flotilla::test {
namespace {

using cluster_ranks::number_window;

constexpr std::size_t count = 4;  // transfers of a program

/// A program: transfers in the order in which both ranks submit them. What a transfer waits for
/// comes before it in the program, on the rank that sends it (its data are not written yet) or on
/// the rank that receives it (its memory is still in use).
struct rank_schedule {
  std::array<bool, count> is_back{};          // from rank 1 to rank 0
  std::array<unsigned, count> before_send{};  // bits: transfers that must have been taken
  std::array<unsigned, count> before_take{};
};

struct rules {
  std::uint64_t window;
  std::uint64_t report_after;
  bool counts_open = false;  // the flaw: the window limits how many are open, in any order
};

enum : unsigned char { waits, sent, taken };

struct state {
  std::array<unsigned char, count> at{};
  std::array<std::uint64_t, 2> acknowledged{};  // by direction
  std::array<number_window, 2> windows;

  [[nodiscard]] std::string key() const {
    std::string made(at.begin(), at.end());
    for (std::uint64_t const each : acknowledged) { made += static_cast<char>(each); }
    return made;
  }
};

class window_model {
 public:
  window_model(rank_schedule const& program, rules const& how) : program_(program), how_(how) {
    std::array<std::uint64_t, 2> next{};
    for (std::size_t i = 0; i < count; ++i) { number_[i] = next[program_.is_back[i]]++; }
  }
  /// Returns whether every order of events ends with all transfers taken.
  [[nodiscard]] bool always_ends() {
    number_window const fresh{how_.window, how_.report_after};
    return explore({{}, {}, {fresh, fresh}});
  }

 private:
  [[nodiscard]] bool explore(state const& from) {
    if (!seen_.insert(from.key()).second) { return true; }
    bool moved = false;
    unsigned done = 0;
    for (std::size_t i = 0; i < count; ++i) { done |= (from.at[i] == taken ? 1u : 0u) << i; }
    for (std::size_t i = 0; i < count; ++i) {
      state next = from;
      if (from.at[i] == waits && (program_.before_send[i] & ~done) == 0 && may_send(from, i)) {
        next.at[i] = sent;
      } else if (from.at[i] == sent && (program_.before_take[i] & ~done) == 0) {
        number_window& window = next.windows[program_.is_back[i]];
        EXPECT_TRUE(how_.counts_open || window.expects(number_[i]));
        window.take(number_[i]);
        next.at[i] = taken;
        if (auto const all_below = window.report()) {
          next.acknowledged[program_.is_back[i]] = *all_below;
        }
      } else {
        continue;
      }
      moved = true;
      if (!explore(next)) { return false; }
    }
    return moved || done == (1u << count) - 1;
  }
  [[nodiscard]] bool may_send(state const& from, std::size_t which) const {
    bool const way = program_.is_back[which];
    if (!how_.counts_open) { return number_[which] < from.acknowledged[way] + how_.window; }
    std::uint64_t open = 0;
    for (std::size_t i = 0; i < count; ++i) {
      open += program_.is_back[i] == way && from.at[i] == sent ? 1 : 0;
    }
    return open < how_.window;
  }

  rank_schedule const program_;
  rules const how_;
  std::array<std::uint64_t, count> number_{};
  std::set<std::string> seen_;
};

/// Returns whether no program can deadlock under these rules.
bool is_safe(rules const& how) {
  rank_schedule program;
  // Bits: what transfer 1 waits for, then transfer 2, and so on.
  constexpr unsigned all = 1u << (count * (count - 1) / 2);
  for (unsigned ways = 0; ways < 1u << (count - 1); ++ways) {  // the first one goes forward
    for (std::size_t i = 0; i < count; ++i) { program.is_back[i] = (ways << 1 >> i & 1) != 0; }
    for (unsigned sends = 0; sends < all; ++sends) {
      for (unsigned takes = 0; takes < all; ++takes) {
        std::size_t bit = 0;
        for (std::size_t i = 0; i < count; ++i) {
          program.before_send[i] = sends >> bit & ((1u << i) - 1);
          program.before_take[i] = takes >> bit & ((1u << i) - 1);
          bit += i;
        }
        if (!window_model{program, how}.always_ends()) { return false; }
      }
    }
  }
  return true;
}

// requirement: a window of numbers cannot deadlock, even the smallest one
TEST(WindowModel, NoProgramDeadlocks) {
  EXPECT_TRUE(is_safe({.window = 1, .report_after = 1}));
  EXPECT_TRUE(is_safe({.window = 2, .report_after = 1}));
  EXPECT_TRUE(is_safe({.window = 3, .report_after = 2}));
}

// requirement: the model finds the flaws that the design avoids
TEST(WindowModel, FindsPlantedFlaws) {
  // A window that limits how many transfers are open fills with later ones.
  EXPECT_FALSE(is_safe({.window = 1, .report_after = 1, .counts_open = true}));
  // The sender waits for a report that needs more transfers than it may send.
  EXPECT_FALSE(is_safe({.window = 2, .report_after = 3}));
}

}  // namespace
}  // namespace flotilla::test
