// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The outcome of each setting of a device.

#include <string>
#include <vector>

#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>

namespace flotilla {
inline namespace v0_1 {

/// The requested value and the actual value of one setting, and the reason if they differ.
struct setting_outcome {
  enum class kinds {
    by_default,  ///< not requested: the device has the driver's default
    granted,     ///< the device has the requested value
    adjusted,    ///< the driver rounded or clamped the requested value
    no_effect,   ///< the driver accepted the value, but current drivers ignore it
    /// The device has the driver's default. Possible only with `best_effort` and for "peer_access"
    /// and "numa_placement".
    refused,
  };
  std::string name;       ///< such as "limits.stack"
  std::string requested;  ///< the requested value as text; empty if the setting was not requested
  std::string granted;    ///< read back from the driver; empty if the driver lacks the setting
  kinds kind = kinds::by_default;
  /// The reason for `adjusted`, `no_effect` and `refused`. For "peer_access": the devices whose
  /// memory this device cannot access, with the reason for each of them. For "numa_placement": the
  /// reason why the setting has no effect, even if it was not requested.
  std::string note;
};

struct FLOTILLA_EXPORT settings_report {
  flotilla::device device;
  /// One entry for each setting, in the order of device_settings::names().
  std::vector<setting_outcome> outcomes;

  /// Returns one line for each setting that was adjusted or refused or has no effect. The line
  /// names the device, the setting, both values and the reason.
  [[nodiscard]] std::vector<std::string> warnings() const;
};

[[nodiscard]] FLOTILLA_EXPORT std::string to_string(setting_outcome::kinds kind);

}  // namespace v0_1
}  // namespace flotilla
