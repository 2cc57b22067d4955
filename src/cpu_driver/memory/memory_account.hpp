// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts the bytes in use on one CPU device and enforces the device's capacity. Device memory is
// ordinary host memory, so no other limit applies.

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace flotilla::cpu_driver {

class memory_account {
 public:
  memory_account(int ordinal, std::size_t capacity) noexcept
      : ordinal_(ordinal), capacity_(capacity) {}

  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }  // ordinal of the device

  /// Counts `bytes` as used. Returns false if they do not fit into the capacity. If `may_wait` is
  /// true, first waits until they fit or until no announced free (see expect()) is pending.
  [[nodiscard]] bool reserve(std::size_t bytes, bool may_wait);
  void give_back(std::size_t bytes) noexcept;

  /// Announces that a free of `bytes` is pending in a stream. The caller must later call
  /// give_back_expected() or expect_no_more().
  void expect(std::size_t bytes) noexcept;
  /// Withdraws an announcement. The memory stays in use.
  void expect_no_more(std::size_t bytes) noexcept;
  /// Gives back memory whose free was announced.
  void give_back_expected(std::size_t bytes) noexcept;

  /// The new capacity may be smaller than the memory in use. Then new reservations do not fit until
  /// enough memory has been given back.
  void set_capacity(std::size_t bytes) noexcept;
  [[nodiscard]] std::size_t capacity() const noexcept;
  [[nodiscard]] std::size_t available() const noexcept;

 private:
  [[nodiscard]] bool fits(std::size_t bytes) const noexcept;

  int const ordinal_;
  std::mutex mutable mutex_;
  std::condition_variable freed_;
  // In bytes, guarded by mutex_:
  std::size_t capacity_;
  std::size_t used_ = 0;
  std::size_t expected_ = 0;  // the part of `used_` that pending frees will give back
};

}  // namespace flotilla::cpu_driver
