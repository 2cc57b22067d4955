// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/ordered_grids_environment.hpp"

#include <cstdlib>
#include <string>
#include <string_view>

#include <flotilla/error/error.hpp>

namespace flotilla::dispatch {

tuning with_ordered_grids_of_environment(tuning tuned) {
  char const* const set = std::getenv("FLOTILLA_ORDERED_GRIDS");
  if (set == nullptr) { return tuned; }
  std::string_view const text{set};
  if (text == "never") {
    tuned.ordered_grids = order_use::never;
  } else if (text == "if_faster") {
    tuned.ordered_grids = order_use::if_faster;
  } else if (text == "always") {
    tuned.ordered_grids = order_use::always;
  } else {
    throw unknown_setting("environment variable FLOTILLA_ORDERED_GRIDS: '" + std::string{text} +
                          "' is none of never, if_faster and always");
  }
  return tuned;
}

}  // namespace flotilla::dispatch
