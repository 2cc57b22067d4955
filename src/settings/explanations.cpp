// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/settings/explanations.hpp>

#include <string>

#include <flotilla/error/error.hpp>

#include "settings/value_text.hpp"

namespace flotilla {
inline namespace v0_1 {

explanations explanations::parse(std::string_view text) {
  explanations made;
  settings_text::for_each_name(text, [&](std::string_view name) {
    if (name != "placement" && name != "all") {
      throw unknown_setting("'" + std::string{name} +
                            "' is not an explanation; the explanations are placement, all");
    }
    made.placement = true;
  });
  return made;
}

explanations explanations::from_environment() {
  return settings_text::from_environment<explanations>("FLOTILLA_EXPLAIN");
}

}  // namespace v0_1
}  // namespace flotilla
