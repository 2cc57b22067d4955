// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The blocks of an ordered twin (flotilla/detail/ordered_twin.hpp) take tickets, wait for the words
// of other launches, count their ends, and write the completion numbers of waves. Two grids use the
// same words, one after the other. Checks every interleaving on a device that runs only two blocks
// at a time: all blocks end, each reads what the launches before have written, and a number is
// written only when all launches up to its wave have ended. What a block writes is visible to
// others only after its next release. The model follows the steps of order_code.cpp in
// src/make_twins, of note_block_ended and of order_records.

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
  no_ticket,             // a block is what the device says, which may start the last block first
  signals_before_write,  // the word is counted before the results are visible
  waits_for_one_block,   // a launch counts as ended with its first block
  forgets_values,        // the second grid expects values as if the words had begun at their start
  compares_order,        // a block waits until the word is at least the value
  skips_wave_before,     // a number is written although the wave before has not ended
  counts_before_word,    // a wave is counted before the word of the launch, without a release
  begins_early           // the second grid begins before the first has ended
};

struct ordered_twin_model {
  static constexpr int places = 2, moves = places + 1;
  static constexpr int grids = 2, launches = 4, waves = 3, numbered = 2, blocks = 5;
  static constexpr int modulus = 4;  // of the words
  // Launch 0 has two blocks, the others one. Launch 2 waits for 0 and 1, and launch 3 for 2.
  static constexpr std::array<int, blocks> launch_of{0, 0, 1, 2, 3};
  static constexpr std::array<int, launches> blocks_of{2, 1, 1, 1}, wave_of{0, 0, 1, 2};
  static constexpr int first_word = 2;  // so that words wrap around
  enum steps : signed char { idle, wait, run, signal, count, number, late_write };

  struct place {
    steps step = idle;
    int block = 0, wave = 0;
    auto operator<=>(place const&) const = default;
  };
  flaw with;
  std::array<place, places> on{};
  int grid = 0, started = 0, ended = 0;
  int reached = 0;  // the completion number
  std::array<int, launches> words{first_word, first_word, first_word, first_word};
  std::array<int, waves> wave_words{};
  std::array<signed char, blocks> written{};  // 1: in the buffer of the block, 2: visible
  // What the host knows: the values before the grid.
  std::array<int, launches> words_before = words;
  std::array<int, waves> waves_before{};
  std::string error{};

  explicit ordered_twin_model(flaw broken) : with{broken} {}
  auto operator<=>(ordered_twin_model const&) const = default;

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  bool step(int mover) { return mover < places ? step_place(on[at(mover)]) : step_host(); }

  /// The stream begins the next grid when the one before has ended, and the host has written its
  /// records with the values that the words will have.
  bool step_host() {
    bool const may_begin = with == flaw::begins_early ? started == blocks : ended == blocks;
    if (!may_begin || grid + 1 == grids) { return false; }
    for (int i = 0; i < launches && with != flaw::forgets_values; ++i) {
      words_before[at(i)] = (words_before[at(i)] + blocks_of[at(i)]) % modulus;
    }
    for (int i = 0; i < waves; ++i) { waves_before[at(i)] = wave_end(i); }
    ++grid;
    started = ended = 0;
    written = {};
    return true;
  }

  [[nodiscard]] int word_end(int launch) const {
    int const all = with == flaw::waits_for_one_block ? 1 : blocks_of[at(launch)];
    return (words_before[at(launch)] + all) % modulus;
  }
  [[nodiscard]] int wave_end(int wave) const {
    int all = wave != 0 && with != flaw::skips_wave_before ? 1 : 0;
    for (int i = 0; i < launches; ++i) { all += wave_of[at(i)] == wave ? blocks_of[at(i)] : 0; }
    return wave < numbered ? (waves_before[at(wave)] + all) % modulus : waves_before[at(wave)];
  }
  [[nodiscard]] bool has_ended(int launch) const {
    int const word = words[at(launch)], end = word_end(launch);
    return with == flaw::compares_order ? word >= end : word == end;
  }
  [[nodiscard]] bool may_run(int launch) const {
    return launch < 2 || (launch == 2 ? has_ended(0) && has_ended(1) : has_ended(2));
  }
  [[nodiscard]] bool is_visible(int launch) const {
    for (int i = 0; i < blocks; ++i) {
      if (launch_of[at(i)] == launch && written[at(i)] != 2) { return false; }
    }
    return true;
  }
  void check_reads(int launch) {
    bool const right = launch < 2 || (launch == 2 ? is_visible(0) && is_visible(1) : is_visible(2));
    if (!right) { error = "a block reads before others have written"; }
  }

  bool step_place(place& one) {
    int const launch = launch_of[at(one.block)];
    switch (one.step) {
      case idle:
        if (started == blocks) { return false; }
        one.block = with == flaw::no_ticket ? blocks - 1 - started : started;
        ++started;
        one.wave = wave_of[at(launch_of[at(one.block)])];
        one.step = wait;
        return true;
      case wait:
        if (!may_run(launch)) { return false; }
        one.step = run;
        return true;
      case run:
        check_reads(launch);
        if (with == flaw::signals_before_write) {
          one.step = signal;
          return true;
        }
        written[at(one.block)] = 1;
        one.step = with == flaw::counts_before_word ? count : signal;
        return true;
      case signal:
        if (written[at(one.block)] == 1) { written[at(one.block)] = 2; }
        words[at(launch)] = (words[at(launch)] + 1) % modulus;
        one.step = with == flaw::signals_before_write ? late_write
                   : with == flaw::counts_before_word ? idle
                                                      : count;
        if (one.step == idle) { ++ended; }
        return true;
      case late_write:
        written[at(one.block)] = 2;
        one.step = count;
        return true;
      case count:
        if (one.wave >= numbered) { return finish(one); }
        wave_words[at(one.wave)] = (wave_words[at(one.wave)] + 1) % modulus;
        if (wave_words[at(one.wave)] != wave_end(one.wave)) { return finish(one); }
        one.step = number;
        return true;
      case number:
        for (int i = 0; i < launches; ++i) {
          if (wave_of[at(i)] <= one.wave && !is_visible(i)) {
            error = "a wave counts as ended before its launches";
          }
        }
        if (int const next = grid * waves + one.wave + 1; next > reached) {
          reached = next;
        } else {
          error = "the completion number does not grow";
        }
        ++one.wave;
        if (with == flaw::skips_wave_before) { return finish(one); }
        one.step = count;
        return true;
    }
    return false;
  }
  bool finish(place& one) {
    one.step = with == flaw::counts_before_word ? signal : idle;
    if (one.step == idle) { ++ended; }
    return true;
  }

  [[nodiscard]] std::string wrong() const { return error; }
  [[nodiscard]] std::string stuck() const {
    if (grid + 1 != grids || ended != blocks) { return "a block waits forever"; }
    return reached == grid * waves + numbered ? "" : "a number is missing";
  }
};

// requirement
TEST(OrderedTwinModel, EachBlockWaitsForTheLaunchesBeforeItsOwn) {
  exploration const found = explore(ordered_twin_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 100u);
}

// requirement: the checker finds each built-in error
TEST(OrderedTwinModelFlaws, AreFound) {
  for (flaw const each : {flaw::no_ticket, flaw::signals_before_write, flaw::waits_for_one_block,
                          flaw::forgets_values, flaw::compares_order, flaw::skips_wave_before,
                          flaw::counts_before_word, flaw::begins_early}) {
    EXPECT_NE(explore(ordered_twin_model{each}).wrong, "") << static_cast<int>(each);
  }
}

}  // namespace
}  // namespace flotilla::test
