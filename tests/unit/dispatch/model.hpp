// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small model checker. Threads take indivisible steps in any order. The checker visits every
// state that can be reached in this way. All steps are sequentially consistent. The code behaves
// like this, because it has a seq_cst operation or fence wherever the order of its steps matters.

#include <algorithm>
#include <cstddef>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace flotilla::test {

/// The result of `explore`: an error, if one was found, and a shortest sequence of moves to this
/// error.
struct exploration {
  std::string wrong;     // empty if there is no error
  std::vector<int> way;  // the moves from the initial state to the error
  std::size_t states = 0;

  friend std::ostream& operator<<(std::ostream& out, exploration const& found) {
    out << found.states << " states";
    if (found.wrong.empty()) { return out << ", nothing wrong"; }
    out << "; " << found.wrong << " after the moves";
    for (int const each : found.way) { out << ' ' << each; }
    return out;
  }
};

/// A model is a small struct, ordered by `<=>`, with
///   static constexpr int moves  the number of moves: one for each thread, and one for each
///                               event that no thread causes, such as a timeout
///   bool step(int move)         makes the move, or returns false if it is impossible now
///   std::string wrong() const   the error in this state, or an empty string
///   std::string stuck() const   the error if no move is possible, or an empty string
template <class Model>
[[nodiscard]] exploration explore(Model const& initial) {
  struct arrival {
    std::size_t from;
    int move;
  };
  std::map<Model, std::size_t> known{{initial, 0}};
  std::vector<typename std::map<Model, std::size_t>::const_iterator> states{known.begin()};
  std::vector<arrival> arrivals{{0, -1}};
  auto const verdict = [&](std::string what, std::size_t at) {
    exploration found{std::move(what), {}, states.size()};
    for (; arrivals[at].move >= 0; at = arrivals[at].from) {
      found.way.push_back(arrivals[at].move);
    }
    std::reverse(found.way.begin(), found.way.end());
    return found;
  };
  // The search is breadth first, so the sequence of moves that it finds is a shortest one.
  for (std::size_t now = 0; now < states.size(); ++now) {
    Model const here = states[now]->first;
    if (std::string what = here.wrong(); !what.empty()) { return verdict(std::move(what), now); }
    bool went_on = false;
    for (int move = 0; move < Model::moves; ++move) {
      Model next = here;
      if (!next.step(move)) { continue; }
      went_on = true;
      auto const [place, fresh] = known.try_emplace(next, states.size());
      if (!fresh) { continue; }
      states.push_back(place);
      arrivals.push_back({now, move});
    }
    if (went_on) { continue; }
    if (std::string what = here.stuck(); !what.empty()) { return verdict(std::move(what), now); }
  }
  return {{}, {}, states.size()};
}

}  // namespace flotilla::test
