// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/settings/settings_report.hpp>

namespace flotilla {
inline namespace v0_1 {

std::string to_string(setting_outcome::kinds kind) {
  switch (kind) {
    case setting_outcome::kinds::by_default: return "default";
    case setting_outcome::kinds::granted: return "granted";
    case setting_outcome::kinds::adjusted: return "adjusted";
    case setting_outcome::kinds::no_effect: return "no effect";
    case setting_outcome::kinds::refused: return "refused";
  }
  return "(" + std::to_string(static_cast<int>(kind)) + ")";
}

std::vector<std::string> settings_report::warnings() const {
  std::vector<std::string> made;
  for (setting_outcome const& each : outcomes) {
    if (each.kind == setting_outcome::kinds::by_default ||
        each.kind == setting_outcome::kinds::granted) {
      continue;
    }
    made.push_back("device " + std::to_string(device.ordinal.value) + " (" + device.name +
                   "): " + each.name + ": requested " + each.requested + ", " +
                   (each.granted.empty() ? "not granted" : "granted " + each.granted) + ": " +
                   each.note);
  }
  return made;
}

}  // namespace v0_1
}  // namespace flotilla
