// Every interleaving of submitting for any device with two devices that pull from the same inbox:
// each task is taken once, and none is left where nobody will look. Follows core::publish and
// device_queue::pull_any step by step.

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
  no_claim,         // two devices pop at once
  forgets_claimed,  // an inbox that another device has claimed is not called left over
  clears_late,      // the pull takes first and clears `any_pending` then
};

/// Thread 0 submits; 1 and 2 are workers. Each pull takes one task at most: so much room a device
/// has.
struct any_model {
  static constexpr int tasks = 3;
  static constexpr int threads = 3;
  static constexpr int moves = threads;
  static constexpr int most = 2;
  static constexpr int devices = 2;

  enum places : signed char {
    push, announce, exchange, wake, absent, look, try_lease, ask, clear, claim, read, pop,
    see_left, unclaim, say_left, give_back, again, leave, last_look, come_back, ended,
  };
  struct body {
    int device = 0;        // whose turn it is
    bool waiting = false;  // some device had something this round
    int head = 0;          // what `read` saw
    bool left = false;
    auto operator<=>(body const&) const = default;
  };

  flaw with;
  std::array<places, threads> at{push, absent, absent};
  std::array<body, threads> of{};
  int pushed = 0;
  int head = 0;
  int delivered = 0;  // counts every delivery of a task
  bool twice = false;
  bool claimed = false;
  bool pending = false;
  std::array<bool, devices> leased{};
  int active = 0;
  int posted = 0;

  explicit any_model(flaw which) : with{which} {}
  auto operator<=>(any_model const&) const = default;

  bool step(int me) {
    places& pc = at[static_cast<std::size_t>(me)];
    body& mine = of[static_cast<std::size_t>(me)];
    bool const late = with == flaw::clears_late;
    auto const next_device = [&] {
      mine.left = false, mine.head = 0;
      if (++mine.device < devices) { return look; }
      mine.device = 0;
      return std::exchange(mine.waiting, false) ? look : leave;
    };
    switch (pc) {
      case push: ++pushed, pc = announce; return true;
      case announce: pc = !pending ? exchange : pushed < tasks ? push : ended; return true;
      case exchange:
        pc = !std::exchange(pending, true) ? wake : pushed < tasks ? push : ended;
        return true;
      case wake:
        if (active < most) { ++active, ++posted; }
        pc = me != 0 ? next_device() : pushed < tasks ? push : ended;
        return true;
      case absent:
        if (posted == 0) { return false; }
        --posted, pc = look;
        return true;
      case look:
        mine.waiting = mine.waiting || pending;
        pc = pending ? try_lease : next_device();
        return true;
      case try_lease: {
        bool& lease = leased[static_cast<std::size_t>(mine.device)];
        pc = lease ? next_device() : ask;
        lease = true;
        return true;
      }
      case ask: pc = !pending ? give_back : late ? claim : clear; return true;
      case clear: pending = false, pc = late ? say_left : claim; return true;
      case claim:
        if (claimed && with != flaw::no_claim) {
          mine.left = with != flaw::forgets_claimed;
          pc = late ? clear : say_left;
        } else {
          claimed = true, pc = read;
        }
        return true;
      case read: mine.head = head, pc = head < pushed ? pop : see_left; return true;
      case pop:
        // Taken is what `read` saw, also when another consumer has moved the head since.
        twice = twice || mine.head < head;
        head = mine.head + 1, ++delivered, pc = see_left;
        return true;
      case see_left: mine.left = head < pushed, pc = unclaim; return true;
      case unclaim: claimed = false, pc = late ? clear : say_left; return true;
      case say_left:
        pending = pending || mine.left;
        pc = give_back;
        return true;
      case give_back:
        leased[static_cast<std::size_t>(mine.device)] = false, pc = again;
        return true;
      case again: pc = pending ? wake : next_device(); return true;
      case leave: --active, pc = last_look; return true;
      case last_look: pc = pending ? come_back : absent; return true;
      case come_back:
        pc = active < most ? look : absent;
        active = std::min(active + 1, most);
        return true;
      case ended: return false;
    }
    return false;
  }
  [[nodiscard]] std::string wrong() const { return twice ? "a task was taken twice" : ""; }
  [[nodiscard]] std::string stuck() const {
    if (head < pushed) { return "a task is left, and nobody is about to look"; }
    return delivered == tasks && active == 0 && !claimed ? "" : "something is not as it was";
  }
};

// requirement
TEST(AnyPendingModel, EachTaskIsTakenOnceAndNoneIsStranded) {
  exploration const found = explore(any_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 1000u);
}

// The checker finds what it is there for.
TEST(AnyPendingModel, FlawsAreFound) {
  EXPECT_EQ(explore(any_model{flaw::no_claim}).wrong, "a task was taken twice");
  EXPECT_EQ(explore(any_model{flaw::forgets_claimed}).wrong,
            "a task is left, and nobody is about to look");
  EXPECT_EQ(explore(any_model{flaw::clears_late}).wrong,
            "a task is left, and nobody is about to look");
}

}  // namespace
}  // namespace flotilla::test
