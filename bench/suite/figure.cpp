// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "figure.hpp"

#include <algorithm>

namespace flotilla::bench {

double figure::median() const {
  std::vector<double> sorted = passes;
  std::sort(sorted.begin(), sorted.end());
  std::size_t const half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

double figure::spread() const {
  auto const [lowest, highest] = std::minmax_element(passes.begin(), passes.end());
  double const middle = median();
  return middle > 0 ? (*highest - *lowest) / middle : 0;
}

double figure::quantile(double part) const {
  std::vector<double> sorted = samples;
  auto const index = std::min(sorted.size() - 1,
                              static_cast<std::size_t>(part * static_cast<double>(sorted.size())));
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(index),
                   sorted.end());
  return sorted[index];
}

}  // namespace flotilla::bench
