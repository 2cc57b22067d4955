// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// An exhaustive model of how the parts of replays over two devices are launched (replay_turns): two
// replays with a part on each device, beside a task of one device and its successor on the other.
// Each device has two lanes, which execute their work in order.
#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <cstdint>
#include <string>

#include "unit/dispatch/model.hpp"

namespace flotilla::dispatch {
namespace {

enum class flaws : std::uint8_t { none, no_turns, no_holds, no_giving_up };

struct launches {
  static constexpr int ops =
      6;  // 0 and 1: the parts of a replay; 2 and 3: of another; 4 and 5: tasks
  static constexpr int first_task = 4, second_task = 5;
  static constexpr int lanes = 2;  // of each device
  static constexpr int launch_moves = ops * lanes;
  static constexpr int refusal_moves = 4;
  static constexpr int moves = launch_moves + refusal_moves + 2 * lanes;

  enum class states : std::uint8_t { waits, launched, begun, ended, given_up };
  struct lane {
    std::array<std::int8_t, ops> work{-1, -1, -1, -1, -1, -1};  // from the oldest on; -1: none
    auto operator<=>(lane const&) const = default;
  };

  flaws flaw = flaws::none;
  std::array<states, ops> state{};
  std::array<lane, 2 * lanes> all{};
  std::int8_t turn = -1;        // the replay that has its turn
  std::uint8_t held_lanes = 0;  // while the turn lasts
  auto operator<=>(launches const&) const = default;

  static constexpr bool is_part(int op) { return op < first_task; }
  static constexpr int replay_of(int op) { return op / 2; }
  static constexpr int other_part(int op) { return op ^ 1; }
  static constexpr int device_of(int op) { return op % 2; }

  [[nodiscard]] states of(int op) const { return state[static_cast<std::size_t>(op)]; }
  void set(int op, states now) { state[static_cast<std::size_t>(op)] = now; }

  void end_turn_if_handled(int op) {
    bool const handled = of(op) != states::waits && of(other_part(op)) != states::waits;
    if (turn != replay_of(op) || !handled) { return; }
    turn = -1;
    held_lanes = 0;
  }
  bool launch(int op, int number) {
    int const at = device_of(op) * lanes + number;
    bool const is_held = (held_lanes >> at & 1) != 0 && flaw != flaws::no_holds;
    if (of(op) != states::waits || is_held) { return false; }
    // A task is launched only after its predecessor.
    if (op == second_task && of(first_task) == states::waits) { return false; }
    if (is_part(op) && flaw != flaws::no_turns) {
      if (turn != -1 && turn != replay_of(op)) { return false; }
      turn = static_cast<std::int8_t>(replay_of(op));
      held_lanes = static_cast<std::uint8_t>(held_lanes | 1u << at);
    }
    lane& to = all[static_cast<std::size_t>(at)];
    std::size_t end = 0;
    while (to.work[end] != -1) { ++end; }
    to.work[end] = static_cast<std::int8_t>(op);
    set(op, states::launched);
    if (is_part(op)) { end_turn_if_handled(op); }
    return true;
  }
  bool refuse(int op) {
    if (of(op) != states::waits) { return false; }
    set(op, states::given_up);
    end_turn_if_handled(op);
    return true;
  }
  bool execute(lane& one) {
    int const op = one.work[0];
    if (op == -1) { return false; }
    if (is_part(op) && of(op) == states::launched) {
      set(op, states::begun);  // it has told the other part
      return true;
    }
    bool ends = true;
    if (is_part(op)) {
      states const other = of(other_part(op));
      bool const may_rely_on_giving_up = flaw != flaws::no_giving_up;
      ends = other == states::begun || other == states::ended ||
             (other == states::given_up && may_rely_on_giving_up);
    } else if (op == second_task) {
      ends = of(first_task) == states::ended;
    }
    if (!ends) { return false; }
    set(op, states::ended);
    for (std::size_t i = 0; i + 1 < one.work.size(); ++i) { one.work[i] = one.work[i + 1]; }
    one.work.back() = -1;
    return true;
  }
  bool step(int move) {
    if (move < launch_moves) { return launch(move / lanes, move % lanes); }
    move -= launch_moves;
    if (move < refusal_moves) { return refuse(move); }
    return execute(all[static_cast<std::size_t>(move - refusal_moves)]);
  }
  [[nodiscard]] std::string wrong() const { return {}; }
  [[nodiscard]] std::string stuck() const {
    for (states const each : state) {
      if (each != states::ended && each != states::given_up) { return "a task never ends"; }
    }
    return {};
  }
};

test::exploration explore(flaws flaw) {
  launches initial;
  initial.flaw = flaw;
  return test::explore(initial);
}

// requirement: whatever the order of launches, lanes and refusals, every part and every task ends
TEST(ReplayTurnsModel, NoOrderOfLaunchesLeadsToADeadlock) {
  test::exploration const found = explore(flaws::none);
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 1000u);
}

// requirement: the model finds what turns, held lanes and giving up are for
TEST(ReplayTurnsModel, FindsPlantedFlaws) {
  for (flaws const flaw : {flaws::no_turns, flaws::no_holds, flaws::no_giving_up}) {
    EXPECT_EQ(explore(flaw).wrong, "a task never ends") << static_cast<int>(flaw);
  }
}

}  // namespace
}  // namespace flotilla::dispatch
