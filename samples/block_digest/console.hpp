#pragma once
/// Standard error: prints failures when they happen, and clears the progress bar before.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace block_digest {

/// Threads: one.
class console {
 public:
  console();
  ~console() { clear(); }
  console(console const&) = delete;
  console& operator=(console const&) = delete;

  /// Prints a failure. `subject` is a path, possibly with a part of the file; control characters in
  /// it are escaped.
  void failure(std::string_view subject, std::string_view why);
  [[nodiscard]] std::uint64_t failures() const noexcept { return failures_; }

  /// Whether standard error is a terminal, which shows the bar.
  [[nodiscard]] bool is_terminal() const noexcept { return terminal_; }
  /// Shows the progress in bytes, at most ten times a second, and only on a terminal.
  void progress(std::uint64_t done, std::uint64_t total);
  /// Removes the bar.
  void clear();

 private:
  bool terminal_;
  bool bar_shown_ = false;
  std::uint64_t failures_ = 0;
  std::chrono::steady_clock::time_point next_bar_{};
};

}  // namespace block_digest
