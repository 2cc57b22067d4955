// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Grids of two devices that wait for each other (joint_run). Checks every interleaving of a host
// that launches four runs, of a launch outside the runs, and of devices with room for one block:
// each task runs once, after the tasks that it follows, and nothing waits for ever. The driver may
// refuse a grid. The model follows the steps of joint_run, ordered_launcher and order_code.cpp in
// src/make_twins.

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
  waits_alone,         // a grid waits only for what its own tasks need from outside
  never_waits_before,  // a grid does not wait for the end of the run before the last one
  compares_equal,      // a block waits until the word has exactly the value
  does_not_wait,       // tasks run before all grids of their run are launched
  skips_count,         // the blocks of skipped tasks are not counted
  never_decides,       // after a refusal, the host forgets the blocks that wait for its decision
  forgets_before       // a task does not wait for tasks of the run before
};

struct joint_run_model {
  static constexpr int devices = 2, runs = 4, waves = 2, pieces = 2;
  static constexpr int refused_run = 2;  // its tasks start again as the run after it
  // The movers: a block on each device, its stream, the outside launch, the host, a refusal.
  static constexpr int moves = 2 * devices + 3;
  enum steps : signed char { idle, decide, wait, run, signal };
  enum states : signed char { none, queued, begun, ended };
  enum decisions : signed char { undecided, runs_now, skipped };

  struct block {
    steps step = idle;
    signed char grid = 0, wave = 0;
    auto operator<=>(block const&) const = default;
  };
  struct grid {
    states state = none;
    signed char piece = 0, taken = 0, left = waves;
    std::array<signed char, waves> ends{};  // the values that the host has computed
    auto operator<=>(grid const&) const = default;
  };
  flaw with;
  std::array<std::array<grid, runs>, devices> grids{};
  std::array<decisions, runs> decided{};
  std::array<bool, runs> follows{};
  std::array<block, devices> place{};
  // What the devices count, and what the host knows of it.
  std::array<std::array<std::array<signed char, waves>, pieces>, devices> words{}, launched{};
  std::array<std::array<std::array<bool, waves>, runs>, devices> has_run{};
  // The launch outside: in another lane of device 0. Tasks of device 1 in run 1 follow it.
  states outside = queued;
  bool outside_is_in_place = false;
  signed char next_run = 0, next_device = 0;
  bool was_refused = false;
  std::string error{};

  explicit joint_run_model(flaw broken) : with{broken} {}
  auto operator<=>(joint_run_model const&) const = default;

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  grid& of(int device, int number) { return grids[at(device)][at(number)]; }
  [[nodiscard]] grid const& of(int device, int number) const {
    return grids[at(device)][at(number)];
  }

  bool step(int mover) {
    if (mover < devices) { return step_block(mover); }
    if (mover < 2 * devices) { return begin_grid(mover - devices); }
    if (mover == 2 * devices) { return step_outside(); }
    return mover == 2 * devices + 1 ? step_host(false) : step_host(true);
  }

  // ---- the host ----

  bool step_host(bool refuse) {
    if (next_run == runs) { return false; }
    bool const is_second = next_device == 1;
    if (refuse && (!is_second || next_run != refused_run)) { return false; }
    if (is_second && refuse) {
      was_refused = true;
      if (with != flaw::never_decides) { decided[at(next_run)] = skipped; }
      return next();
    }
    if (!launch(next_device)) { return false; }
    if (!is_second) {
      next_device = 1;
      if (with == flaw::does_not_wait) { decided[at(next_run)] = runs_now; }
      return true;
    }
    decided[at(next_run)] = runs_now;
    return next();
  }
  bool next() {
    next_device = 0;
    ++next_run;
    return true;
  }
  bool launch(int device) {
    grid& one = of(device, next_run);
    int piece = -1;
    for (int i = pieces; i-- > 0;) {
      bool is_free = true;
      for (int r = 0; r < next_run; ++r) {
        grid const& other = of(device, r);
        bool const in_use = other.state == queued || other.state == begun;
        is_free = is_free && !(in_use && other.piece == i);
      }
      if (is_free) { piece = i; }
    }
    if (piece < 0) { return false; }
    one.state = queued;
    one.piece = static_cast<signed char>(piece);
    for (int w = 0; w < waves; ++w) { one.ends[at(w)] = ++launched[at(device)][at(piece)][at(w)]; }
    follows[at(next_run)] = next_run != 0 && !(was_refused && next_run == refused_run + 1);
    return true;
  }

  // ---- the streams ----

  [[nodiscard]] bool has_ended(int device, int number) const {
    states const state = of(device, number).state;
    return state == ended || (state == none && was_refused && number == refused_run);
  }
  bool begin_grid(int device) {
    for (int r = 0; r < runs; ++r) {
      grid& one = of(device, r);
      if (one.state == ended || (one.state == none && r < next_run)) { continue; }
      if (one.state != queued || !may_begin(device, r)) { return false; }
      one.state = begun;
      return true;
    }
    return false;
  }
  [[nodiscard]] bool may_begin(int device, int r) const {
    bool const follows_outside = r >= 1 && (device == 1 || with != flaw::waits_alone);
    if (follows_outside && outside != ended) { return false; }
    int const last = follows[at(r)] ? r - 2 : r - 1;
    for (int before = 0; before <= last; ++before) {
      for (int d = 0; d < devices; ++d) {
        bool const must_wait = d == device || with != flaw::never_waits_before;
        if (must_wait && !has_ended(d, before)) { return false; }
      }
    }
    return true;
  }

  // ---- the devices ----

  bool step_outside() {
    if (outside == ended) { return false; }
    if (outside_is_in_place) {
      outside_is_in_place = false;
      outside = ended;
      return true;
    }
    if (place[0].step != idle) { return false; }
    outside_is_in_place = true;
    return true;
  }
  bool step_block(int device) {
    block& one = place[at(device)];
    switch (one.step) {
      case idle: return take_ticket(device, one);
      case decide:
        if (decided[at(one.grid)] == undecided) { return false; }
        one.step = decided[at(one.grid)] == runs_now ? wait : signal;
        return true;
      case wait:
        if (!may_run(device, one)) { return false; }
        one.step = run;
        return true;
      case run: {
        check_reads(device, one);
        bool& before = has_run[at(device)][at(tasks_of(one.grid))][at(one.wave)];
        if (before) { error = "a task runs twice"; }
        before = true;
        one.step = signal;
        return true;
      }
      case signal: {
        grid& of_block = of(device, one.grid);
        bool const counts = decided[at(one.grid)] == runs_now || with != flaw::skips_count;
        if (counts) { ++words[at(device)][at(of_block.piece)][at(one.wave)]; }
        one.step = idle;
        if (--of_block.left == 0) { of_block.state = ended; }
        return true;
      }
    }
    return false;
  }
  bool take_ticket(int device, block& one) {
    if (device == 0 && outside_is_in_place) { return false; }
    for (int r = 0; r < runs; ++r) {
      grid& of_block = of(device, r);
      if (of_block.state != begun || of_block.taken == waves) { continue; }
      one = {decide, static_cast<signed char>(r), of_block.taken};
      ++of_block.taken;
      return true;
    }
    return false;
  }
  /// The run whose tasks the grid has: those of a refused run start again.
  [[nodiscard]] int tasks_of(int number) const {
    return was_refused && number == refused_run + 1 ? refused_run : number;
  }
  [[nodiscard]] bool is_reached(int device, int number, int wave) const {
    grid const& one = of(device, number);
    int const word = words[at(device)][at(one.piece)][at(wave)];
    int const end = one.ends[at(wave)];
    return with == flaw::compares_equal ? word == end : word >= end;
  }
  /// Wave 1 follows wave 0 of its own device and of device 1. Wave 0 of device 0 follows wave 1 of
  /// device 1 in the run before. So device 1 can be ahead of device 0.
  [[nodiscard]] bool may_run(int device, block const& one) const {
    if (one.wave == 1) { return is_reached(1, one.grid, 0) && is_reached(device, one.grid, 0); }
    bool const waits = device == 0 && follows[at(one.grid)] && with != flaw::forgets_before;
    return !waits || is_reached(1, one.grid - 1, 1);
  }
  void check_reads(int device, block const& one) {
    int const tasks = tasks_of(one.grid);
    bool right = one.wave == 0 || has_run[1][at(tasks)][0];
    if (one.wave == 0 && tasks > 0) { right = right && has_run[1][at(tasks - 1)][1]; }
    // It also follows tasks of all earlier runs, whose words it does not look at.
    for (int r = 0; one.wave == 0 && r + 1 < tasks; ++r) {
      right = right && has_run[0][at(r)][1] && has_run[1][at(r)][1];
    }
    if (device == 1 && tasks == 1) { right = right && outside == ended; }
    if (!right) { error = "a task runs before a task that it follows"; }
  }

  [[nodiscard]] std::string wrong() const { return error; }
  [[nodiscard]] std::string stuck() const {
    int const last = was_refused ? runs - 1 : runs;
    for (int r = 0; r < last; ++r) {
      for (int d = 0; d < devices; ++d) {
        for (int w = 0; w < waves; ++w) {
          if (!has_run[at(d)][at(r)][at(w)]) { return "a task never runs"; }
        }
      }
    }
    for (int d = 0; d < devices; ++d) {
      for (int r = 0; r < runs; ++r) {
        states const state = of(d, r).state;
        if (state == queued || state == begun) { return "a grid never ends"; }
      }
    }
    return outside == ended ? "" : "the launch outside never runs";
  }
};

// requirement
TEST(JointRunModel, EachTaskRunsOnceAfterThoseItFollows) {
  exploration const found = explore(joint_run_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 1000u);
}

// requirement: the checker finds each built-in error
TEST(JointRunModelFlaws, AreFound) {
  for (flaw const each :
       {flaw::waits_alone, flaw::never_waits_before, flaw::compares_equal, flaw::does_not_wait,
        flaw::skips_count, flaw::never_decides, flaw::forgets_before}) {
    EXPECT_NE(explore(joint_run_model{each}).wrong, "") << static_cast<int>(each);
  }
}

}  // namespace
}  // namespace flotilla::test
