// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The packed words of a slot: every field has the value that was written into it.

#include "dispatch/task/slot.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace flotilla::dispatch {
namespace {

// requirement
TEST(EndMark, HoldsDeviceLaneAndNumber) {
  for (unsigned const device : {0u, 1u, 63u, 255u}) {
    for (unsigned const lane : {0u, 7u, 13u, 255u}) {
      for (std::uint64_t const number :
           {std::uint64_t{1}, std::uint64_t{0xffff'ffff}, (std::uint64_t{1} << 48) - 1}) {
        end_mark const made = end_mark::of(device, lane, number);
        EXPECT_TRUE(made.valid());
        EXPECT_EQ(made.device(), device);
        EXPECT_EQ(made.lane(), lane);
        EXPECT_EQ(made.number(), number);
      }
    }
  }
  EXPECT_FALSE(end_mark{}.valid());
}

// requirement: a generation is odd while its task is open. The flag in the same word does not
// change the generation.
TEST(GenerationWord, SaysWhetherTheTaskIsOpenAndHasATicket) {
  for (std::uint64_t const generation :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1} << 40}) {
    generation_word const with_ticket{generation_word::of(generation)};
    generation_word const without{generation_word::of(generation) | generation_word::no_ticket_bit};
    for (generation_word const each : {with_ticket, without}) {
      EXPECT_EQ(each.generation(), generation);
      EXPECT_EQ(each.open(), generation % 2 == 1);
    }
    EXPECT_TRUE(with_ticket.has_ticket());
    EXPECT_FALSE(without.has_ticket());
  }
}

// requirement: of the drop of a ticket and the end of its task, one is first, also after the slot
// was used again
TEST(TicketWord, TellsTheFirstFromTheSecond) {
  ticket_word word{};
  EXPECT_TRUE(word.settle(1));
  EXPECT_FALSE(word.settle(1));
  EXPECT_TRUE(word.settle(5)) << "the tasks of the slot between the two had no tickets";
  EXPECT_FALSE(word.settle(3)) << "an old ticket, whose task ended before the slot was used again";
  EXPECT_FALSE(word.settle(5));
}

// requirement: the word contains the lower 32 bits of the generation, and the whole head
TEST(SuccessorWord, HoldsGenerationAndHead) {
  for (std::uint32_t const head : {std::uint32_t{0}, std::uint32_t{0x0040'ffff},
                                   successor_word::none, successor_word::closed}) {
    std::uint64_t const word = successor_word::of((std::uint64_t{5} << 32) + 7, head);
    EXPECT_EQ(successor_word::generation(word), 7u);
    EXPECT_EQ(successor_word::head(word), head);
  }
}

// requirement: a slot is valid if all its bytes are 0, so a slot in shared memory needs no
// constructor
TEST(Slot, IsValidAsZeros) {
  static_assert(sizeof(slot) == 256 && alignof(slot) == base::cache_line);
  static_assert(std::is_trivially_destructible_v<slot>);
  EXPECT_FALSE(generation_word{0}.open());
  EXPECT_FALSE(end_mark{0}.valid());
}

}  // namespace
}  // namespace flotilla::dispatch
