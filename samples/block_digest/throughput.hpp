// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The measured speed of a device, and the amount of its pending work.

#include <chrono>
#include <cstddef>
#include <limits>

namespace block_digest {

/// Measures bytes per second. Time without work does not count, so a device that waits for the next
/// file does not look slow.
class throughput {
 public:
  using clock = std::chrono::steady_clock;

  void add_submitted(std::size_t bytes, clock::time_point now) {
    if (pending_bytes_ == 0) { busy_since_ = now; }
    pending_bytes_ += bytes;
  }

  void add_finished(std::size_t bytes, clock::time_point now) {
    pending_bytes_ -= bytes;
    finished_bytes_ += static_cast<double>(bytes);
    busy_ += now - busy_since_;
    busy_since_ = now;
  }

  /// Estimates the seconds from now until the device would finish its pending work and `bytes` more
  /// bytes. The result is infinity if the device has not finished any work yet.
  [[nodiscard]] double seconds_until_done(std::size_t bytes) const {
    if (finished_bytes_ == 0) { return std::numeric_limits<double>::infinity(); }
    return static_cast<double>(pending_bytes_ + bytes) * busy_.count() / finished_bytes_;
  }

 private:
  std::size_t pending_bytes_ = 0;  ///< bytes that are submitted and not finished
  double finished_bytes_ = 0;
  std::chrono::duration<double> busy_{0};  ///< time with pending work, up to the last add_finished
  clock::time_point busy_since_{};
};

}  // namespace block_digest
