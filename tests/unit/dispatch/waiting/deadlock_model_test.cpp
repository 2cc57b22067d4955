// Every interleaving of threads that have a device each and wait inside a callable for another: of
// a ring at least one is refused, so that none waits for ever, and without a ring nobody is.
// Follows core::check_deadlock and refuse_deadlock step by step.

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <utility>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// How the model differs from the code, so that the checker has something to find.
enum class flaw : signed char {
  none,
  looks_first,    // says what it waits for when it has looked
  follows_rings,  // takes it that a task for any device can always be pulled somewhere
};

struct deadlock_model {
  static constexpr int threads = 3;  // thread i has device i
  static constexpr int moves = threads;
  static constexpr signed char any = threads;
  static constexpr signed char nothing = -1;
  enum places : signed char { say, look_at, waiting, refused, finished };
  using targets = std::array<signed char, threads>;

  targets target;
  flaw with;
  std::array<places, threads> at{};
  std::array<signed char, threads> said{nothing, nothing, nothing};
  std::array<bool, threads> held{true, true, true};
  // Of who looks: which devices can go on, which is looked at next, whether this round found one.
  std::array<std::array<bool, threads>, threads> can{};
  std::array<signed char, threads> next{};
  std::array<bool, threads> added{};

  deadlock_model(targets each_for, flaw which) : target{each_for}, with{which} {
    for (int i = 0; i < threads; ++i) {
      std::size_t const me = static_cast<std::size_t>(i);
      at[me] = target[me] == nothing ? waiting : with == flaw::looks_first ? look_at : say;
    }
  }
  auto operator<=>(deadlock_model const&) const = default;

  [[nodiscard]] bool comes(std::array<bool, threads> const& of, signed char what) const {
    if (what == nothing) { return true; }
    if (what != any) { return of[static_cast<std::size_t>(what)]; }
    return with == flaw::follows_rings || of[0] || of[1] || of[2];
  }
  bool step(int thread) {
    std::size_t const me = static_cast<std::size_t>(thread);
    places& pc = at[me];
    switch (pc) {
      case say:
        said[me] = target[me], pc = with == flaw::looks_first ? waiting : look_at;
        return true;
      case look_at: {
        std::size_t const device = static_cast<std::size_t>(next[me]);
        if (device != me && !can[me][device] && (!held[device] || comes(can[me], said[device]))) {
          can[me][device] = true;
          added[me] = true;
        }
        next[me] = static_cast<signed char>((next[me] + 1) % threads);
        if (next[me] != 0 || std::exchange(added[me], false)) { return true; }
        bool const may = comes(can[me], target[me]);
        can[me] = {};
        if (!may) { said[me] = nothing; }
        pc = !may ? refused : with == flaw::looks_first ? say : waiting;
        return true;
      }
      case waiting: {  // until a device is free that brings what it waits for
        std::array<bool, threads> const free{!held[0], !held[1], !held[2]};
        bool const brought = target[me] == nothing ||
                             (target[me] == any ? free[0] || free[1] || free[2]
                                                : free[static_cast<std::size_t>(target[me])]);
        if (!brought) { return false; }
        said[me] = nothing, held[me] = false, pc = finished;
        return true;
      }
      case refused:
        if (!held[me]) { return false; }
        held[me] = false;  // the callable ends
        return true;
      case finished: return false;
    }
    return false;
  }
  /// Found the plain way: nobody in a ring is ever brought anything.
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
    bool const somebody = std::count(at.begin(), at.end(), refused) != 0;
    return somebody && !is_ring() ? "refused without need" : "";
  }
  [[nodiscard]] std::string stuck() const {
    return std::count(at.begin(), at.end(), waiting) != 0 ? "waits for ever" : "";
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

// The checker finds what it is there for.
TEST(DeadlockModelFlaws, AreFound) {
  EXPECT_EQ(explore(deadlock_model{{1, 2, 0}, flaw::looks_first}).wrong, "waits for ever");
  // regression: tasks for any device inside callables on all of them
  EXPECT_EQ(explore(deadlock_model{{any, any, any}, flaw::follows_rings}).wrong, "waits for ever");
}

}  // namespace
}  // namespace flotilla::test
