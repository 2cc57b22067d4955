#pragma once
// How much of a device's memory is in use. The bytes themselves are the host's: this is the count
// that makes "out of memory" real.

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace flotilla::cpu_driver {

class device_memory {
 public:
  explicit device_memory(std::size_t capacity) noexcept : capacity_(capacity) {}

  /// Counts `bytes` as used. False when they do not fit. With `patient`, first waits as long as
  /// frees are expected that could make room.
  [[nodiscard]] bool reserve(std::size_t bytes, bool patient);
  void give_back(std::size_t bytes) noexcept;

  /// A free of `bytes` was put into a stream; give_back_expected() will follow.
  void expect(std::size_t bytes) noexcept;
  void expect_no_more(std::size_t bytes) noexcept;
  void give_back_expected(std::size_t bytes) noexcept;

  /// What is in use stays so, also when it is more than the new capacity.
  void set_capacity(std::size_t bytes) noexcept;
  [[nodiscard]] std::size_t capacity() const noexcept;
  [[nodiscard]] std::size_t available() const noexcept;

 private:
  [[nodiscard]] bool fits(std::size_t bytes) const noexcept;

  std::mutex mutable mutex_;
  std::condition_variable freed_;
  std::size_t capacity_;      // bytes; all guarded by mutex_
  std::size_t used_ = 0;      // bytes
  std::size_t expected_ = 0;  // bytes of `used_` that pending frees will give back
};

}  // namespace flotilla::cpu_driver
