// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The driver's own log (CUDA 12.9 and later).

#include <cuda.h>

#include <array>
#include <mutex>
#include <string>

#include "driver/table.hpp"

namespace flotilla::driver {

/// Reads what the driver has noted about failed calls. The driver has one log for the process, so a
/// note may be about a call of another thread, also of the application.
/// Threads: any.
class driver_log {
 public:
  struct entries {
    CUresult (*current)(CUlogIterator*, unsigned flags) = nullptr;
    CUresult (*dump)(CUlogIterator*, char* buffer, std::size_t* bytes, unsigned flags) = nullptr;
  };
  /// Begins at the end of the log. Without the entries, there is no log.
  explicit driver_log(entries const& api) noexcept;
  /// Returns what was added since the last call; at most the newest 2000 bytes, in whole lines.
  [[nodiscard]] std::string take();

 private:
  entries api_;
  std::mutex mutex_;
  CUlogIterator next_ = 0;
  // The driver keeps so many bytes of its log. With a buffer of 2001 bytes on the stack, a stack
  // protector ended two tests on an H200 in which many calls fail (driver 580.159.04). That this
  // call wrote behind the buffer is suspected, not proven; so there is room behind it.
  static constexpr std::size_t max_bytes = 25600;
  std::array<char, max_bytes + 4096> text_{};
};

/// Adds the log of a driver to the texts of driver_error, until the process ends. Does nothing if
/// the driver has no log.
void use_log_of(resolver const& find);

}  // namespace flotilla::driver
