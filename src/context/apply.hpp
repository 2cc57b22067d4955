// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Applies settings to a context, reads them back and reports the outcome.

#include <map>
#include <string>
#include <string_view>

#include <flotilla/settings/settings.hpp>
#include <flotilla/settings/settings_report.hpp>

#include "driver/table.hpp"

namespace flotilla::context {

/// The settings that the driver refused. The key is the name of the setting, and the value is the
/// reason. The map stays empty without best effort, because every refused setting is then an error.
using rejected_settings = std::map<std::string, std::string, std::less<>>;

/// Handles a setting that the driver refused: records the setting if best effort is requested, and
/// throws otherwise.
class rejection_policy {
 public:
  rejection_policy(std::string const& subject, bool best_effort) noexcept
      : subject_(subject), best_effort_(best_effort) {}
  [[nodiscard]] std::string const& subject() const noexcept { return subject_; }
  /// Checks `answer`, the driver's status for the setting `name`. Does nothing on CUDA_SUCCESS.
  /// @throws driver_error  The driver refused the setting and best effort is not requested, or the
  ///                       context is unusable. The message names the device, the setting, its
  ///                       value and the reason.
  void check(CUresult answer, char const* call, std::string_view name, device_settings const& asked,
             rejected_settings& into) const;
  /// Handles a setting for which this driver has no entry point.
  /// @throws driver_error  Best effort is not requested.
  void missing(char const* call, std::string_view name, device_settings const& asked,
               rejected_settings& into) const {
    check(CUDA_ERROR_NOT_SUPPORTED, call, name, asked, into);
  }

 private:
  std::string const& subject_;
  bool best_effort_;
};

/// Applies the flags, limits, cache preference and bank size in `asked` to the current context.
/// Sets the flags only if they differ from the context's flags.
/// @throws driver_error  A call failed, and `policy` does not accept the failure.
void apply(driver::table const& api, device_settings const& asked, rejection_policy const& policy,
           rejected_settings& into);

/// Reads the settings of the current context. @throws driver_error
[[nodiscard]] device_settings read_back(driver::table const& api, std::string const& subject);

/// Restores each setting in `asked` to its value in `before`, in the current context. Ignores
/// errors that the driver returns.
void restore(driver::table const& api, device_settings const& asked,
             device_settings const& before) noexcept;

/// Returns the outcome of each setting.
/// @param effective  The settings that `read_back` returned.
[[nodiscard]] settings_report report(device const& where, device_settings const& asked,
                                     device_settings const& effective,
                                     rejected_settings const& refused);

}  // namespace flotilla::context
