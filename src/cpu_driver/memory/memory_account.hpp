#pragma once
// How much of a device's memory is in use. The memory is the host's; this count makes allocation
// fail when the device's capacity is used up.

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace flotilla::cpu_driver {

class memory_account {
 public:
  memory_account(int ordinal, std::size_t capacity) noexcept
      : ordinal_(ordinal), capacity_(capacity) {}

  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }  // of the device

  /// Counts `bytes` as used. False if they do not fit. If `may_wait`, first waits as long as
  /// expected frees could make room.
  [[nodiscard]] bool reserve(std::size_t bytes, bool may_wait);
  void give_back(std::size_t bytes) noexcept;

  /// A free of `bytes` was put into a stream. give_back_expected() must follow.
  void expect(std::size_t bytes) noexcept;
  void expect_no_more(std::size_t bytes) noexcept;
  void give_back_expected(std::size_t bytes) noexcept;

  /// Memory in use stays in use, even if it exceeds the new capacity.
  void set_capacity(std::size_t bytes) noexcept;
  [[nodiscard]] std::size_t capacity() const noexcept;
  [[nodiscard]] std::size_t available() const noexcept;

 private:
  [[nodiscard]] bool fits(std::size_t bytes) const noexcept;

  int const ordinal_;
  std::mutex mutable mutex_;
  std::condition_variable freed_;
  std::size_t capacity_;      // bytes; all guarded by mutex_
  std::size_t used_ = 0;      // bytes
  std::size_t expected_ = 0;  // bytes of `used_` that pending frees will give back
};

}  // namespace flotilla::cpu_driver
