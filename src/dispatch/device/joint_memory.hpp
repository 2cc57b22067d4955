// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which other devices tasks of a device have followed a moment ago.

#include <atomic>
#include <chrono>
#include <cstdint>

namespace flotilla::dispatch {

/// So that the next drain of the device, by whatever thread, drives it together with these devices
/// again (joint_pass). Threads: any; other threads than the holder of the lease get only hints.
class joint_memory {
 public:
  using clock = std::chrono::steady_clock;

  /// Notes that tasks have followed tasks of these devices, which are bits.
  void remember(std::uint64_t devices) noexcept {
    followed_.store(devices | followed_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    last_.store(clock::now(), std::memory_order_relaxed);
  }
  void forget() noexcept { followed_.store(0, std::memory_order_relaxed); }
  /// The devices, or 0 if it was too long ago.
  [[nodiscard]] std::uint64_t devices() const noexcept {
    std::uint64_t const devices = followed_.load(std::memory_order_relaxed);
    bool const is_old =
        devices != 0 && clock::now() - last_.load(std::memory_order_relaxed) > max_age;
    return is_old ? 0 : devices;
  }
  [[nodiscard]] bool has(unsigned device) const noexcept {
    return device < 64 && (devices() >> device & 1) != 0;
  }

 private:
  // Longer than the last steps of a burst of tasks take, during which no task follows another one.
  static constexpr std::chrono::milliseconds max_age{5};

  std::atomic<std::uint64_t> followed_{0};
  std::atomic<clock::time_point> last_{};
};

}  // namespace flotilla::dispatch
