// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Threads take slots from a block, release the block, and give slots back. Checks every
// interleaving: each free slot must be in a block that a thread holds or that is offered (see
// slot_pool). The model follows the steps of slot_pool::take, take_from, take_from_another, pick,
// release, give_back and offer.

#include <gtest/gtest.h>

#include <array>
#include <compare>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw : signed char {
  none,
  releases_blindly,  // take_from_another checks that the block is full and clears `held` in
                     // two steps
  never_offers,      // give_back never offers a block
  ends_silently,     // release never offers a block, even if it has free slots
};

/// There is one block of two slots. Threads 0 and 1 take two slots each, and thread 2 gives all
/// slots back one by one. If no block is offered, a thread gives up. When thread 0 has its two
/// slots, it holds the block until the block is full. When thread 1 has its two slots, it ends and
/// releases the block.
struct block_model {
  static constexpr int moves = 3;
  enum places : signed char {
    // steps of slot_pool::pick, take_from_another and take_from
    pick,
    hold,
    take,
    release_full,
    release_seen,
    // steps of slot_pool::release and offer
    release,
    look_released,
    offer_released,
    ended,
    // steps of slot_pool::give_back and offer
    give,
    look_held,
    look_offered,
    offer
  };

  struct taker {
    bool saw_full = false;
    int wants = 2;
    auto operator<=>(taker const&) const = default;
  };

  flaw with;
  std::array<places, 3> at{pick, pick, give};
  std::array<taker, 2> takers{};
  int taken = 0;    // number of slots that are taken
  int to_give = 0;  // number of slots that thread 2 has yet to give back
  bool held = false;
  bool offered = true;
  bool saw_held = false;

  explicit block_model(flaw broken) : with{broken} {}
  auto operator<=>(block_model const&) const = default;

  bool step(int me) {
    places& pc = at[static_cast<std::size_t>(me)];
    return me == 2 ? give_back(pc) : work(me, pc, takers[static_cast<std::size_t>(me)]);
  }

  bool work(int me, places& pc, taker& mine) {
    switch (pc) {
      case pick:  // one step, because the code does this with one fetch_or
        pc = offered ? hold : ended;
        offered = false;
        return true;
      case hold: held = true, pc = take; return true;
      case take:
        if (mine.wants != 0 && taken < 2) {
          ++taken, ++to_give, --mine.wants;
        } else {
          pc = mine.wants == 0 && me == 1 ? release : release_full;
        }
        return true;
      case release_full:
        if (with == flaw::releases_blindly) {
          mine.saw_full = taken == 2, pc = release_seen;
        } else if (taken == 2) {
          // One step, because the code does this with one compare_exchange.
          held = false, pc = mine.wants == 0 ? ended : pick;
        } else if (mine.wants == 0) {
          return false;  // the thread has its slots, and keeps the block
        } else {
          pc = take;
        }
        return true;
      case release_seen:
        if (mine.saw_full) { held = false; }
        pc = mine.saw_full && mine.wants != 0 ? pick : ended;
        return true;
      case release:  // one step, because the code does this with one fetch_and
        held = false, mine.saw_full = taken == 2;
        pc = mine.saw_full || with == flaw::ends_silently ? ended : look_released;
        return true;
      case look_released: pc = offered ? ended : offer_released; return true;
      case offer_released: offered = true, pc = ended; return true;
      default: return false;
    }
  }

  bool give_back(places& pc) {
    switch (pc) {
      case give:  // one fetch_and, which also reads `held`
        if (to_give == 0) { return false; }
        --to_give, --taken;
        saw_held = held, pc = look_held;
        return true;
      case look_held:
        pc = saw_held || with == flaw::never_offers ? give : look_offered;
        return true;
      case look_offered: pc = offered ? give : offer; return true;
      case offer: offered = true, pc = give; return true;
      default: return false;
    }
  }

  [[nodiscard]] std::string wrong() const {
    return taken < 0 || taken > 2 ? "a slot was taken twice" : "";
  }
  [[nodiscard]] std::string stuck() const {
    return taken < 2 && !held && !offered ? "a free slot is neither held nor offered" : "";
  }
};

// requirement
TEST(SlotPoolModel, AFreeSlotIsHeldOrOffered) {
  exploration const found = explore(block_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 50u);
}

// requirement: the checker finds each built-in error
TEST(SlotPoolModel, FlawsAreFound) {
  for (flaw const each : {flaw::releases_blindly, flaw::never_offers, flaw::ends_silently}) {
    EXPECT_EQ(explore(block_model{each}).wrong, "a free slot is neither held nor offered")
        << "flaw " << static_cast<int>(each);
  }
}

}  // namespace
}  // namespace flotilla::test
