#pragma once
/// What became of the settings that were asked of a device.

#include <string>
#include <vector>

#include <flotilla/device.hpp>
#include <flotilla/export.hpp>

namespace flotilla {

/// One setting: what was asked, what the driver says it is, and why they differ.
struct setting_outcome {
  enum class kinds {
    by_default,  ///< nobody asked; the driver's own
    granted,     ///< as asked
    adjusted,    ///< the driver rounded or clamped it
    no_effect,   ///< accepted, and nothing changes by it on today's drivers
    refused,     ///< only where the runtime was told `best_effort`: the driver's default serves
  };
  std::string name;       ///< "limits.stack"
  std::string requested;  ///< as settings have it; empty: not asked for
  std::string granted;    ///< read back; empty: this driver has no such thing
  kinds kind = kinds::by_default;
  std::string note;       ///< the reason, of `adjusted`, `no_effect` and `refused`
};

struct FLOTILLA_EXPORT settings_report {
  flotilla::device device;
  std::vector<setting_outcome> outcomes;  ///< one a setting, in the order of device_settings::names()

  /// A line each for what was adjusted, refused, or has no effect: naming device, setting, both values, reason.
  [[nodiscard]] std::vector<std::string> warnings() const;
};

[[nodiscard]] FLOTILLA_EXPORT std::string to_string(setting_outcome::kinds kind);

}  // namespace flotilla
