#pragma once
// Settings onto a context and back: the one place that sets, reads and judges them.

#include <map>
#include <string>
#include <string_view>

#include <flotilla/settings.hpp>
#include <flotilla/settings_report.hpp>

#include "driver/table.hpp"

namespace flotilla::context {

/// What could not be had, by the setting's name, with the reason. Empty unless best effort will do.
using refusals = std::map<std::string, std::string, std::less<>>;

/// Says what the driver refused: throws, or where best effort will do, takes note.
class refusal_policy {
 public:
  refusal_policy(std::string const& subject, bool best_effort) noexcept
      : subject_(subject), best_effort_(best_effort) {}
  [[nodiscard]] std::string const& subject() const noexcept { return subject_; }
  /// @throws driver_error  naming device, setting, value and reason.
  void check(CUresult answer, char const* call, std::string_view name, device_settings const& asked,
             refusals& into) const;
  /// The same for what this driver has no entry point for. @throws driver_error
  void missing(char const* call, std::string_view name, device_settings const& asked, refusals& into) const {
    check(CUDA_ERROR_NOT_SUPPORTED, call, name, asked, into);
  }

 private:
  std::string const& subject_;
  bool best_effort_;
};

/// Sets what is asked on the current context: limits, cache preference, bank size; and the flags, where they differ.
/// @throws driver_error  by `policy`.
void apply(driver::table const& api, device_settings const& asked, refusal_policy const& policy, refusals& into);

/// What the current context's settings are. @throws driver_error
[[nodiscard]] device_settings read_back(driver::table const& api, std::string const& subject);

/// Sets the current context back to `before`, as far as the driver lets; of those that `asked` has touched.
void restore(driver::table const& api, device_settings const& asked, device_settings const& before) noexcept;

/// What became of each setting. `effective` has what was read back.
[[nodiscard]] settings_report report(device const& where, device_settings const& asked,
                                     device_settings const& effective, refusals const& refused);

}  // namespace flotilla::context
