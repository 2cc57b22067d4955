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
  // A scale of nothing would let every stress test pass.
  if (!(scale > 0)) {
    throw std::runtime_error{"FLOTILLA_STRESS_SCALE must be above 0: " + std::string{text}};
  }
  return scale;
}

std::size_t scaled(std::size_t count, std::size_t least) {
  double const slowed = sanitized ? 0.02 : 1.0;
  return std::max(least,
                  static_cast<std::size_t>(static_cast<double>(count) * stress_scale() * slowed));
}

}  // namespace flotilla::test
