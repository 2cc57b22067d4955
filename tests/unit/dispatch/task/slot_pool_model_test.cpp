// Every interleaving of taking slots from a block, letting go of it and giving slots back: a free slot is always in a
// block that somebody holds, or that is offered. Follows slot_pool::take, take_from_another and give_back step by step.

#include <gtest/gtest.h>

#include <array>
#include <compare>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// How the model differs from the code, so that the checker has something to find.
enum class flaw : signed char {
  none,
  lets_go_blindly,  // clears `held` without seeing in the same step that the block is full
  never_offers,     // gives back without a look at `held`
};

/// One block of two slots. Threads 0 and 1 take two slots each; what they have taken, thread 2 gives back, one by
/// one. A thread that finds no offer gives up.
struct block_model {
  static constexpr int moves = 3;
  enum places : signed char { pick, hold, look, take, full_look, let_go, ended, give, see_held, offer };

  struct taker {
    bool has_block = false;
    bool saw_full = false;
    int wants = 2;
    auto operator<=>(taker const&) const = default;
  };

  flaw with;
  std::array<places, 3> at{pick, pick, give};
  std::array<taker, 2> of{};
  int taken = 0;      // slots of the block
  int to_give = 0;    // slots that thread 2 has in its hands
  int given = 0;
  bool held = false;
  bool offered = true;
  bool saw_held = false;

  explicit block_model(flaw which) : with{which} {}
  auto operator<=>(block_model const&) const = default;

  bool step(int me) {
    places& pc = at[static_cast<std::size_t>(me)];
    return me == 2 ? give_back(pc) : work(pc, of[static_cast<std::size_t>(me)]);
  }

  bool work(places& pc, taker& mine) {
    switch (pc) {
      case pick:
        if (!offered) {
          pc = ended;  // it takes from what others hold, or the window is full
        } else {
          offered = false, pc = hold;
        }
        return true;
      case hold: held = true, pc = take; return true;
      case take:
        if (mine.wants == 0) {
          pc = full_look;  // its next task: it works on until the block is used up
        } else if (taken < 2) {
          ++taken, ++to_give, --mine.wants;
        } else {
          pc = full_look;
        }
        return true;
      case full_look:
        if (with == flaw::lets_go_blindly) {
          mine.saw_full = taken == 2, pc = let_go;
        } else if (taken == 2) {
          held = false, pc = mine.wants == 0 ? ended : pick;  // one step: a compare and exchange
        } else {
          return false;  // it holds the block, and has nothing to take it for
        }
        return true;
      case let_go:
        if (mine.saw_full) { held = false; }
        pc = mine.saw_full && mine.wants != 0 ? pick : ended;
        return true;
      default: return false;
    }
  }

  bool give_back(places& pc) {
    switch (pc) {
      case give:
        if (to_give == 0) { return false; }
        --to_give, --taken, ++given;
        saw_held = held;  // one step with clearing the bits
        pc = see_held;
        return true;
      case see_held: pc = saw_held || with == flaw::never_offers ? give : offer; return true;
      case offer: offered = true, pc = give; return true;
      default: return false;
    }
  }

  [[nodiscard]] std::string wrong() const { return taken < 0 || taken > 2 ? "a slot was given twice" : ""; }
  [[nodiscard]] std::string stuck() const {
    return taken < 2 && !held && !offered ? "a free slot is in nobody's block and not offered" : "";
  }
};

// requirement
TEST(SlotPoolModel, AFreeSlotIsHeldOrOffered) {
  exploration const found = explore(block_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 50u);
}

// The checker finds what it is there for.
TEST(SlotPoolModel, FlawsAreFound) {
  EXPECT_EQ(explore(block_model{flaw::lets_go_blindly}).wrong, "a free slot is in nobody's block and not offered");
  EXPECT_EQ(explore(block_model{flaw::never_offers}).wrong, "a free slot is in nobody's block and not offered");
}

}  // namespace
}  // namespace flotilla::test
