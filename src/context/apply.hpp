#pragma once
// Applies settings to a context, reads them back and reports the outcome.

#include <map>
#include <string>
#include <string_view>

#include <flotilla/settings/settings.hpp>
#include <flotilla/settings/settings_report.hpp>

#include "driver/table.hpp"

namespace flotilla::context {

/// The settings that the driver refused, by name, with the reason. Only filled with best effort.
using rejected_settings = std::map<std::string, std::string, std::less<>>;

/// Handles a refused setting: throws, or with best effort records it.
class rejection_policy {
 public:
  rejection_policy(std::string const& subject, bool best_effort) noexcept
      : subject_(subject), best_effort_(best_effort) {}
  [[nodiscard]] std::string const& subject() const noexcept { return subject_; }
  /// @throws driver_error  naming device, setting, value and reason.
  void check(CUresult answer, char const* call, std::string_view name, device_settings const& asked,
             rejected_settings& into) const;
  /// The same for a setting for which this driver has no entry point. @throws driver_error
  void missing(char const* call, std::string_view name, device_settings const& asked,
               rejected_settings& into) const {
    check(CUDA_ERROR_NOT_SUPPORTED, call, name, asked, into);
  }

 private:
  std::string const& subject_;
  bool best_effort_;
};

/// Applies `asked` to the current context: limits, cache preference, bank size, and flags that
/// differ.
/// @throws driver_error  as `policy` decides.
void apply(driver::table const& api, device_settings const& asked, rejection_policy const& policy,
           rejected_settings& into);

/// Reads the settings of the current context. @throws driver_error
[[nodiscard]] device_settings read_back(driver::table const& api, std::string const& subject);

/// Restores the settings that `asked` has set to their values in `before`, as far as the driver
/// permits.
void restore(driver::table const& api, device_settings const& asked,
             device_settings const& before) noexcept;

/// The outcome of each setting. @param effective  The settings that were read back.
[[nodiscard]] settings_report report(device const& where, device_settings const& asked,
                                     device_settings const& effective,
                                     rejected_settings const& refused);

}  // namespace flotilla::context
