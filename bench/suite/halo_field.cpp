// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "halo_field.hpp"

#include <stdexcept>
#include <string>

namespace flotilla::bench {

void halo_field::check(std::vector<float> const& part0, std::vector<float> const& part1,
                       int steps) const {
  // All elements of a row are equal at all times, so one column is enough.
  std::vector<float> now(static_cast<std::size_t>(2 * rows + 2), 0.0F);
  now.front() = edge_value;
  std::vector<float> next = now;
  for (int step = 0; step < steps; ++step) {
    for (std::size_t i = 1; i + 1 < now.size(); ++i) {
      next[i] = 0.25F * ((now[i - 1] + now[i + 1]) + (now[i] + now[i]));
    }
    now.swap(next);
  }
  for (int index = 1; index <= 2 * rows; ++index) {
    bool const first = index <= rows;
    std::vector<float> const& part = first ? part0 : part1;
    std::size_t const begin = row(first ? index : index - rows);
    for (std::size_t i = begin; i < begin + static_cast<std::size_t>(width); ++i) {
      if (part[i] != now[static_cast<std::size_t>(index)]) {
        throw std::runtime_error{"row " + std::to_string(index) + " of the field has the value " +
                                 std::to_string(part[i]) + ", but must have " +
                                 std::to_string(now[static_cast<std::size_t>(index)])};
      }
    }
  }
}

}  // namespace flotilla::bench
