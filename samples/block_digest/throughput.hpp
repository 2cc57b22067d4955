#pragma once
/// How fast a device has been so far, and what it still has to do.

#include <chrono>
#include <cstddef>
#include <limits>

namespace block_digest {

/// Bytes per second are counted over the time in which the device had something to do, so that a
/// device that waits for its next file is not taken for a slow one.
class pace {
 public:
  using clock = std::chrono::steady_clock;

  void begun(std::size_t bytes, clock::time_point now) {
    if (pending_ == 0) { busy_since_ = now; }
    pending_ += bytes;
  }

  void ended(std::size_t bytes, clock::time_point now) {
    pending_ -= bytes;
    done_ += static_cast<double>(bytes);
    busy_ += now - busy_since_;
    busy_since_ = now;
  }

  /// When it would be through with `bytes` more, in seconds from now; infinity: nothing is known.
  [[nodiscard]] double seconds_until_done(std::size_t bytes) const {
    if (done_ == 0) { return std::numeric_limits<double>::infinity(); }
    return static_cast<double>(pending_ + bytes) * busy_.count() / done_;
  }

 private:
  std::size_t pending_ = 0;                ///< bytes begun and not ended
  double done_ = 0;                        ///< bytes ended
  std::chrono::duration<double> busy_{0};  ///< time with something pending, up to the last end
  clock::time_point busy_since_{};
};

}  // namespace block_digest
