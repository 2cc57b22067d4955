// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "support/scale.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace flotilla::test {

double stress_scale() {
  char const* const text = std::getenv("FLOTILLA_STRESS_SCALE");
  if (text == nullptr || *text == '\0') { return 1.0; }
  double const scale = std::stod(text);
  // With a scale of 0 every stress test would pass without running a task.
  if (!(scale > 0)) {
    throw std::runtime_error{
        "the environment variable FLOTILLA_STRESS_SCALE must be greater than 0, but is " +
        std::string{text}};
  }
  return scale;
}

std::size_t scaled(std::size_t count, std::size_t min_count) {
  double const sanitizer_scale = sanitized ? 0.02 : 1.0;
  double const scale = stress_scale() * sanitizer_scale;
  return std::max(min_count, static_cast<std::size_t>(static_cast<double>(count) * scale));
}

}  // namespace flotilla::test
