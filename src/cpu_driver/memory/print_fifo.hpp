// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The buffer for the printf output of a context's kernels. As on a GPU, the size of the buffer is
// limited, and the buffer is written to stdout when the host synchronises. If the buffer is full,
// new text is lost. On a GPU, the oldest text is lost instead.

#include <cstddef>
#include <mutex>
#include <string>

namespace flotilla::cpu_driver {

class limits;

class print_fifo {
 public:
  explicit print_fifo(limits& its_limits) noexcept : limits_(its_limits) {}

  /// Appends the text, or discards the whole text if it does not fit. Thread-safe.
  void print(char const* text, std::size_t bytes) noexcept;
  /// Writes the buffer to stdout and empties it.
  void flush() noexcept;

 private:
  limits& limits_;
  std::mutex mutex_;
  std::string text_;  // guarded by mutex_
};

}  // namespace flotilla::cpu_driver
