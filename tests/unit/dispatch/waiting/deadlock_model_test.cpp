// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Three threads hold one device each, and each waits inside a callable for another device. Checks
// every interleaving. If the waits form a cycle, at least one wait must be refused, so that no
// thread waits forever. Otherwise no wait may be refused. The model follows the steps of
// deadlock_detector::check_wait_for_task, publish, refuse_ring and clear. check_wait_for_lease has
// the same steps for a lease.

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <utility>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw : signed char {
  none,
  looks_first,    // a thread checks for a cycle before it publishes its target
  follows_rings,  // the check assumes that some device can always take a shared task
};

/// In the code, a waiting thread repeats the check while it helps. One check is enough in the
/// model, because a later check can only see more published targets.
struct deadlock_model {
  static constexpr int threads = 3;  // thread i holds the lease of device i
  static constexpr int moves = threads;
  static constexpr signed char any = threads;
  static constexpr signed char nothing = -1;
  enum places : signed char { publish, look_held, look_target, clear, waiting, refused, finished };
  using targets = std::array<signed char, threads>;

  targets target;  // the device for which each thread waits
  flaw with;
  std::array<places, threads> at{};
  std::array<signed char, threads> published{nothing, nothing, nothing};
  std::array<bool, threads> held{true, true, true};
  // The state of a thread's check: which devices are known to become free, which device is checked
  // next, and whether a device was added in this round.
  std::array<std::array<bool, threads>, threads> can_go_on{};
  std::array<signed char, threads> next{};
  std::array<bool, threads> added{};

  deadlock_model(targets wanted, flaw broken) : target{wanted}, with{broken} {
    for (int i = 0; i < threads; ++i) {
      std::size_t const me = static_cast<std::size_t>(i);
      at[me] = target[me] == nothing ? waiting : with == flaw::looks_first ? look_held : publish;
    }
  }
  auto operator<=>(deadlock_model const&) const = default;

  [[nodiscard]] bool will_come(std::array<bool, threads> const& devices, signed char what) const {
    if (what == nothing) { return true; }
    if (what != any) { return devices[static_cast<std::size_t>(what)]; }
    return with == flaw::follows_rings || devices[0] || devices[1] || devices[2];
  }
  /// Goes to the next device. After the last device, begins another round or decides whether to
  /// refuse the wait.
  [[nodiscard]] places next_look(std::size_t me) {
    next[me] = static_cast<signed char>((next[me] + 1) % threads);
    if (next[me] != 0 || std::exchange(added[me], false)) { return look_held; }
    bool const may_wait = will_come(can_go_on[me], target[me]);
    can_go_on[me] = {};
    return !may_wait ? clear : with == flaw::looks_first ? publish : waiting;
  }
  bool step(int thread) {
    std::size_t const me = static_cast<std::size_t>(thread);
    places& pc = at[me];
    switch (pc) {
      case publish:
        published[me] = target[me], pc = with == flaw::looks_first ? waiting : look_held;
        return true;
      case look_held: {
        std::size_t const device = static_cast<std::size_t>(next[me]);
        if (device == me || can_go_on[me][device]) {
          pc = next_look(me);
        } else if (held[device]) {
          pc = look_target;
        } else {
          can_go_on[me][device] = added[me] = true;
          pc = next_look(me);
        }
        return true;
      }
      case look_target: {
        std::size_t const device = static_cast<std::size_t>(next[me]);
        if (will_come(can_go_on[me], published[device])) {
          can_go_on[me][device] = added[me] = true;
        }
        pc = next_look(me);
        return true;
      }
      case clear: published[me] = nothing, pc = refused; return true;
      case waiting: {  // waits until the target device (`any`: some device) is free
        std::array<bool, threads> const free{!held[0], !held[1], !held[2]};
        bool const brought = target[me] == nothing ||
                             (target[me] == any ? free[0] || free[1] || free[2]
                                                : free[static_cast<std::size_t>(target[me])]);
        if (!brought) { return false; }
        published[me] = nothing, held[me] = false, pc = finished;
        return true;
      }
      case refused:
        if (!held[me]) { return false; }
        held[me] = false;  // the callable has ended
        return true;
      case finished: return false;
    }
    return false;
  }
  /// Returns whether the targets contain a cycle. Does not use the states of the threads.
  [[nodiscard]] bool is_ring() const {
    std::array<bool, threads> goes{};
    for (int rounds = 0; rounds < threads; ++rounds) {
      for (std::size_t i = 0; i < threads; ++i) {
        goes[i] = goes[i] || target[i] == nothing ||
                  (target[i] == any ? goes[0] || goes[1] || goes[2]
                                    : goes[static_cast<std::size_t>(target[i])]);
      }
    }
    return !(goes[0] && goes[1] && goes[2]);
  }
  [[nodiscard]] std::string wrong() const {
    bool const any_refused = std::count(at.begin(), at.end(), refused) != 0;
    return any_refused && !is_ring() ? "a wait was refused without a cycle" : "";
  }
  [[nodiscard]] std::string stuck() const {
    return std::count(at.begin(), at.end(), waiting) != 0 ? "a thread waits forever" : "";
  }
};

constexpr signed char any = deadlock_model::any;
constexpr signed char nothing = deadlock_model::nothing;

class DeadlockModel : public ::testing::TestWithParam<deadlock_model::targets> {};

// requirement
TEST_P(DeadlockModel, NobodyWaitsForEverOrIsRefusedWithoutNeed) {
  exploration const found = explore(deadlock_model{GetParam(), flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
}
using targets = deadlock_model::targets;
INSTANTIATE_TEST_SUITE_P(, DeadlockModel,
                         ::testing::Values(targets{1, 2, 0}, targets{1, 0, nothing},
                                           targets{1, 0, 0}, targets{1, 2, nothing},
                                           targets{any, any, any}, targets{any, 0, 1},
                                           targets{any, 0, nothing}, targets{0, any, nothing},
                                           targets{1, any, 1}, targets{any, any, nothing}));

// requirement: the checker finds each built-in error
TEST(DeadlockModelFlaws, AreFound) {
  EXPECT_EQ(explore(deadlock_model{{1, 2, 0}, flaw::looks_first}).wrong, "a thread waits forever");
  // regression: on every device, a callable waited for a shared task. No wait was refused.
  EXPECT_EQ(explore(deadlock_model{{any, any, any}, flaw::follows_rings}).wrong,
            "a thread waits forever");
}

}  // namespace
}  // namespace flotilla::test
