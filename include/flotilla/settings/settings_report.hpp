#pragma once
/// Which of the requested settings a device was granted.

#include <string>
#include <vector>

#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>

namespace flotilla {
inline namespace v0_1 {

/// One setting: its requested value, its actual value, and why they differ.
struct setting_outcome {
  enum class kinds {
    by_default,  ///< not requested; the driver's default
    granted,     ///< as requested
    adjusted,    ///< the driver rounded or clamped the value
    no_effect,   ///< accepted, but without effect on current drivers
    refused,     ///< the driver's default is used; only with `best_effort`
  };
  std::string name;       ///< "limits.stack"
  std::string requested;  ///< as text; empty: not requested
  std::string granted;    ///< read back from the driver; empty: the driver does not support it
  kinds kind = kinds::by_default;
  std::string note;  ///< the reason, for `adjusted`, `no_effect` and `refused`
};

struct FLOTILLA_EXPORT settings_report {
  flotilla::device device;
  /// One per setting, in the order of device_settings::names().
  std::vector<setting_outcome> outcomes;

  /// One line per setting that was adjusted, refused or has no effect. It names the device, the
  /// setting, both values and the reason.
  [[nodiscard]] std::vector<std::string> warnings() const;
};

[[nodiscard]] FLOTILLA_EXPORT std::string to_string(setting_outcome::kinds kind);

}  // namespace v0_1
}  // namespace flotilla
