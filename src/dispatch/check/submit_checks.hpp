#pragma once
// The checks of one runtime, as submit and the waits call them.

#include <cstdint>
#include <optional>
#include <string_view>

#include <flotilla/kernel/launch.hpp>
#include <flotilla/settings/checks.hpp>

#include "dispatch/check/argument_check.hpp"

namespace flotilla::dispatch {

/// Exists only if the runtime makes at least one check. Threads: any.
class submit_checks {
 public:
  submit_checks(checks which, argument_check::parts const& parts)
      : which_(which), arguments_(parts) {}

  [[nodiscard]] checks which() const noexcept { return which_; }

  /// Checks the arguments of a launch that is submitted or recorded.
  /// @param device  Index of the device that runs the launch. Empty: any device may take it.
  /// @throws invalid_argument
  void check_arguments(launch const& what, std::string_view label,
                       std::optional<unsigned> device) const {
    if (which_.arguments) { arguments_.check(what, label, device); }
  }

  /// Records that the program has destroyed a buffer.
  void destroyed(std::uintptr_t address, std::size_t bytes) noexcept;

 private:
  checks const which_;
  argument_check arguments_;
};

}  // namespace flotilla::dispatch
