// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/settings/checks.hpp>

#include <string>

#include <flotilla/error/error.hpp>

#include "settings/value_text.hpp"

namespace flotilla {
inline namespace v0_1 {

checks checks::parse(std::string_view text) {
  checks made;
  settings_text::for_each_name(text, [&](std::string_view name) {
    bool const all = name == "all";
    if (!all && name != "arguments" && name != "order") {
      throw unknown_setting("'" + std::string{name} +
                            "' is not a check; the checks are arguments, order, all");
    }
    made.arguments = made.arguments || all || name == "arguments";
    made.order = made.order || all || name == "order";
  });
  return made;
}

checks checks::from_environment() {
  return settings_text::from_environment<checks>("FLOTILLA_CHECK");
}

}  // namespace v0_1
}  // namespace flotilla
