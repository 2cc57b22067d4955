// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "metg.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flotilla::bench {

std::optional<double> find_metg(double max_us,
                                std::function<std::optional<double>(double us)> const& efficiency) {
  constexpr double wanted = 0.5;
  double too_short = 0;
  double enough = metg_min_us;
  while (true) {
    auto const reached = efficiency(enough);
    if (!reached) { return std::nullopt; }
    if (*reached >= wanted) { break; }
    if (enough >= max_us) { return std::numeric_limits<double>::infinity(); }
    too_short = enough;
    enough = std::min(2 * enough, max_us);
  }
  while (too_short != 0 && enough / too_short > 1.1) {
    double const middle = std::sqrt(too_short * enough);
    auto const reached = efficiency(middle);
    if (!reached) { return std::nullopt; }
    (*reached >= wanted ? enough : too_short) = middle;
  }
  return enough;
}

}  // namespace flotilla::bench
