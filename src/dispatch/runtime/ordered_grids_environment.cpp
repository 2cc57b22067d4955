// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/ordered_grids_environment.hpp"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <flotilla/error/error.hpp>

namespace flotilla::dispatch {

tuning with_ordered_grids_of_environment(tuning tuned) {
  char const* const set = std::getenv("FLOTILLA_ORDERED_GRIDS");
  if (set == nullptr) { return tuned; }
  std::string_view const text{set};
  if (text == "off") {
    tuned.min_ordered_kernel_ns = tuning::no_ordered_grids;
    return tuned;
  }
  std::uint32_t ns = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), ns);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw unknown_setting("environment variable FLOTILLA_ORDERED_GRIDS: '" + std::string{text} +
                          "' is neither 'off' nor a number of nanoseconds from 0 to 4294967295");
  }
  tuned.min_ordered_kernel_ns = static_cast<float>(ns);
  return tuned;
}

}  // namespace flotilla::dispatch
