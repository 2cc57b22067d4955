// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The output on standard error: failures and a progress bar.

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace block_digest {

/// Threads: any.
class console {
 public:
  console();
  ~console() { clear(); }
  console(console const&) = delete;
  console& operator=(console const&) = delete;

  /// Prints a failure at once. `subject` is a path, possibly followed by the position of a block.
  /// The function escapes control characters in `subject`.
  void failure(std::string_view subject, std::string_view why);
  [[nodiscard]] std::uint64_t failures() const;

  /// Returns whether standard error is a terminal. Only a terminal shows the bar.
  [[nodiscard]] bool is_terminal() const noexcept { return terminal_; }
  /// Shows the progress, in bytes, at most ten times per second.
  void progress(std::uint64_t done, std::uint64_t total);
  /// Removes the bar from the terminal.
  void clear();

 private:
  void clear_bar();

  bool terminal_;
  mutable std::mutex mutex_;  // guards the members below
  bool bar_shown_ = false;
  std::uint64_t failures_ = 0;
  std::chrono::steady_clock::time_point next_bar_{};
};

}  // namespace block_digest
