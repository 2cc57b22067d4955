#pragma once
// The printf buffer of a context's kernels. It has a limited size and is written to stdout when the
// host synchronises, as on a GPU. If it is full, new text is lost; a GPU loses the oldest instead.

#include <cstddef>
#include <mutex>
#include <string>

namespace flotilla::cpu_driver {

class limits;

class print_fifo {
 public:
  explicit print_fifo(limits& its_limits) noexcept : limits_(its_limits) {}

  /// Keeps the whole text or none of it. Threads: any.
  void print(char const* text, std::size_t bytes) noexcept;
  /// Writes the buffer to stdout and empties it.
  void flush() noexcept;

 private:
  limits& limits_;
  std::mutex mutex_;
  std::string text_;  // guarded by mutex_
};

}  // namespace flotilla::cpu_driver
