#pragma once
// Where a context's kernels print to: a buffer of limited size that goes to stdout at points of
// synchronisation, as on a GPU. What does not fit is lost; on a GPU the oldest is, here the newest.

#include <cstddef>
#include <mutex>
#include <string>

namespace flotilla::cpu_driver {

class limits;

class print_fifo {
 public:
  explicit print_fifo(limits& of) noexcept : limits_(of) {}

  /// Any thread, several at once. A text is kept whole or not at all.
  void print(char const* text, std::size_t bytes) noexcept;
  /// Writes what is there to stdout.
  void flush() noexcept;

 private:
  limits& limits_;
  std::mutex mutex_;
  std::string text_;  // guarded by mutex_
};

}  // namespace flotilla::cpu_driver
