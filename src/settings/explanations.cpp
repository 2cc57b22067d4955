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
    bool const all = name == "all";
    if (!all && name != "placement" && name != "repeat") {
      throw unknown_setting("'" + std::string{name} +
                            "' is not an explanation; the explanations are placement, repeat, all");
    }
    made.placement = made.placement || all || name == "placement";
    made.repeat = made.repeat || all || name == "repeat";
  });
  return made;
}

explanations explanations::from_environment() {
  return settings_text::from_environment<explanations>("FLOTILLA_EXPLAIN");
}

}  // namespace v0_1
}  // namespace flotilla
