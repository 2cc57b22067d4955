// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/properties/multiprocessors.hpp"

#include <numeric>

#include "cpu_driver/properties/device_properties.hpp"

namespace flotilla::cpu_driver {

multiprocessor_set const& all_multiprocessors() {
  static multiprocessor_set const* const all = [] {
    auto* const made = new multiprocessor_set(properties::multiprocessors);
    std::iota(made->begin(), made->end(), std::uint16_t{0});
    return made;
  }();
  return *all;
}

}  // namespace flotilla::cpu_driver
