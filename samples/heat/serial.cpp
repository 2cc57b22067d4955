// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "serial.hpp"

#include <algorithm>
#include <vector>

#include "stencil.hpp"

namespace heat {

field compute_serially(field start, std::size_t steps, float alpha) {
  std::vector<float> next = start.values;
  std::size_t const pitch = start.columns;
  for (; steps != 0; --steps) {
    for (std::size_t r = 1; r + 1 < start.rows; ++r) {
      for (std::size_t c = 1; c + 1 < pitch; ++c) {
        float const* const here = start.values.data() + r * pitch + c;
        next[r * pitch + c] =
            relax(here[0], *(here - pitch), here[pitch], *(here - 1), here[1], alpha);
      }
    }
    start.values.swap(next);  // the borders of both are the same
  }
  return start;
}

std::optional<std::size_t> first_difference(field const& a, field const& b) {
  auto const at = std::mismatch(a.values.begin(), a.values.end(), b.values.begin()).first;
  if (at == a.values.end()) { return std::nullopt; }
  return static_cast<std::size_t>(at - a.values.begin());
}

}  // namespace heat
