#pragma once
// A small model checker. Threads take indivisible steps in any order; the checker visits every
// state that they can reach. Steps are sequentially consistent, and so are the handshakes that are
// modelled: each of them has a seq_cst operation or fence wherever its order matters.

#include <algorithm>
#include <cstddef>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace flotilla::test {

/// What `explore` found: nothing wrong, or what is wrong and the shortest sequence of moves to it.
struct exploration {
  std::string wrong;     // empty: nothing
  std::vector<int> way;  // the moves
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
///   static constexpr int moves  how many moves there are: one for each thread, and one more for
///                               each event that no thread causes, such as time running out
///   bool step(int move)         makes that move; false: it is not possible now, nothing changed
///   std::string wrong() const   what is broken in this state; empty: nothing
///   std::string stuck() const   what is broken if no move is possible; empty: nothing
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
  // Breadth first, so the moves that lead to a finding are as few as possible.
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
