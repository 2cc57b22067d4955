// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// An isolated device belongs to one runtime at a time.

#include <string>

#include "driver/device_recovery.hpp"

namespace flotilla::dispatch {

/// The right to replace an isolated device. If two runtimes used a device, the one that did not
/// replace it would not learn that its tasks were lost: their numbers would be reached by later
/// tasks. Threads: any, but only one uses the object.
class recovery_claim {
 public:
  /// @param of  Null for a device in this process, which needs no claim.
  /// @param subject  The device, for the message.
  /// @throws invalid_argument  Another object has the claim.
  recovery_claim(driver::device_recovery* of, int ordinal, std::string const& subject);
  ~recovery_claim() { release(); }
  recovery_claim(recovery_claim const&) = delete;
  recovery_claim& operator=(recovery_claim const&) = delete;
  /// Gives the claim up. Another runtime may have the device from now on.
  void release() noexcept;

 private:
  driver::device_recovery* of_;  // null: there is no claim
  int ordinal_;
};

}  // namespace flotilla::dispatch
