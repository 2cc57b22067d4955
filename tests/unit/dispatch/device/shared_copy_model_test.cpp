// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// An owner begins two copies of two steps each, and other threads take part. Checks every
// interleaving: each step is copied once, with the addresses of its copy, and before the owner
// counts the copy as finished. The model follows the steps of shared_copy.

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <cstddef>
#include <string>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw : signed char {
  none,
  no_number,         // the word does not hold the number of the copy
  blind_decrement,   // a thread decrements the word without comparing it
  addresses_first,   // a thread reads the addresses before it reads the word
  addresses_late,    // the owner writes the addresses after the word
  done_before_copy,  // a thread counts its step as done before it copies it
  waits_for_claims,  // to the owner, a copy is finished if all its steps are claimed
  forgets_claimed,   // to the owner, a copy that it abandons is finished at once
};

struct shared_copy_model {
  static constexpr int threads = 3;
  static constexpr int moves = threads;
  static constexpr int copies = 2;
  static constexpr int steps = 2;
  enum tasks : signed char { addresses_task, count_task, word_task, late_task, share, check, over };
  enum places : signed char { look, read, claim, copy, count };

  struct word_value {
    int number = 0;
    int unclaimed = 0;
    auto operator<=>(word_value const&) const = default;
  };
  struct thread_state {
    places at = look;
    word_value seen{};
    int addresses = 0;
    int step = 0;
    auto operator<=>(thread_state const&) const = default;
  };

  flaw with;
  int sharing;    // how many threads take part, with the owner
  bool abandons;  // whether the owner abandons the first copy
  tasks owner = addresses_task;
  int begun = 0;      // number of copies that the owner has begun
  int finished = 0;   // number of copies that are finished to the owner
  int addresses = 0;  // the number of the copy to which the addresses belong
  int unfinished = 0;
  word_value word{};
  std::array<thread_state, threads> thread{};
  std::array<int, steps> copied{};  // how often each step of the last copy was copied
  std::string error{};

  shared_copy_model(flaw broken, int threads_sharing, bool abandoning)
      : with{broken}, sharing{threads_sharing}, abandons{abandoning} {}
  auto operator<=>(shared_copy_model const&) const = default;

  bool step(int mover) {
    if (mover >= sharing) { return false; }
    thread_state& one = thread[static_cast<std::size_t>(mover)];
    if (mover != 0) { return step_thread(one); }
    if (owner != share) { return step_owner(); }
    bool const leaves = one.at == look && (word.unclaimed == 0 || (abandons && begun == 1));
    return leaves ? step_owner() : step_thread(one);
  }

  bool step_owner() {
    switch (owner) {
      case addresses_task:
        if (with != flaw::addresses_late) { addresses = begun + 1; }
        owner = count_task;
        return true;
      case count_task:
        unfinished = steps;
        owner = word_task;
        return true;
      case word_task:
        ++begun;
        copied = {};
        word = {with == flaw::no_number ? 0 : begun, steps};
        owner = with == flaw::addresses_late ? late_task : share;
        return true;
      case late_task:
        addresses = begun;
        owner = share;
        return true;
      case share:
        if (abandons && begun == 1) {
          unfinished -= with == flaw::forgets_claimed ? unfinished : word.unclaimed;
          word.unclaimed = 0;
        }
        owner = check;
        return true;
      case check:
        if (with == flaw::waits_for_claims ? word.unclaimed != 0 : unfinished != 0) {
          return false;
        }
        finished = begun;
        for (int const times : copied) {
          if (times == 0 && !(abandons && begun == 1)) { error = "a finished copy lacks a step"; }
        }
        owner = begun == copies ? over : addresses_task;
        return true;
      case over: return false;
    }
    return false;
  }

  bool step_thread(thread_state& one) {
    bool const addresses_first = with == flaw::addresses_first;
    switch (one.at) {
      case look:
        if (word.unclaimed == 0) { return false; }  // it looks again later
        addresses_first ? see_addresses(one) : see_word(one);
        one.at = read;
        return true;
      case read:
        addresses_first ? see_word(one) : see_addresses(one);
        one.at = one.seen.unclaimed == 0 ? look : claim;
        return true;
      case claim:
        if (with != flaw::blind_decrement && word != one.seen) {
          one.at = look;
          return true;
        }
        one.step = steps - word.unclaimed;
        --word.unclaimed;
        one.at = with == flaw::done_before_copy ? count : copy;
        return true;
      case copy:
        if (one.step >= steps) {
          error = "a thread copies a step that does not exist";
        } else if (one.addresses != begun || finished == begun) {
          error = "a thread copies with the addresses of another copy, or too late";
        } else if (++copied[static_cast<std::size_t>(one.step)] > 1) {
          error = "a step is copied twice";
        }
        one.at = with == flaw::done_before_copy ? look : count;
        return true;
      case count:
        --unfinished;
        one.at = with == flaw::done_before_copy ? copy : look;
        return true;
    }
    return false;
  }
  void see_word(thread_state& one) const { one.seen = word; }
  void see_addresses(thread_state& one) const { one.addresses = addresses; }

  [[nodiscard]] std::string wrong() const { return error; }
  [[nodiscard]] std::string stuck() const {
    return owner != over ? "the owner waits for a step that no thread copies" : "";
  }
};

// requirement
TEST(SharedCopyModel, EachStepIsCopiedOnceBeforeTheCopyIsFinished) {
  for (bool const abandons : {false, true}) {
    exploration const found = explore(shared_copy_model{flaw::none, 3, abandons});
    EXPECT_EQ(found.wrong, "") << found;
    EXPECT_GT(found.states, 500u);
  }
}

// requirement: the owner needs no other thread
TEST(SharedCopyModel, TheOwnerFinishesAlone) {
  exploration const found = explore(shared_copy_model{flaw::none, 1, false});
  EXPECT_EQ(found.wrong, "") << found;
}

// requirement: the checker finds each built-in error
TEST(SharedCopyModelFlaws, AreFound) {
  for (flaw const each :
       {flaw::no_number, flaw::blind_decrement, flaw::addresses_first, flaw::addresses_late,
        flaw::done_before_copy, flaw::waits_for_claims, flaw::forgets_claimed}) {
    bool const abandons = each == flaw::forgets_claimed;
    EXPECT_NE(explore(shared_copy_model{each, 3, abandons}).wrong, "") << static_cast<int>(each);
  }
}

}  // namespace
}  // namespace flotilla::test
