#pragma once
/// Standard error: names what went wrong as it happens, and keeps the progress bar out of its way.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace block_digest {

/// Threads: the thread that made it.
class console {
 public:
  console();
  ~console() { clear(); }
  console(console const&) = delete;
  console& operator=(console const&) = delete;

  /// Names a failure. `subject` is a path, or a path and what of it; control characters in it are
  /// escaped.
  void failure(std::string_view subject, std::string_view why);
  [[nodiscard]] std::uint64_t failures() const noexcept { return failures_; }

  /// Whether there is somebody to show a bar to.
  [[nodiscard]] bool is_terminal() const noexcept { return terminal_; }
  /// Shows how far the job is, in bytes; at most ten times a second, and only on a terminal.
  void progress(std::uint64_t done, std::uint64_t total);
  /// Takes the bar away.
  void clear();

 private:
  bool terminal_;
  bool bar_shown_ = false;
  std::uint64_t failures_ = 0;
  std::chrono::steady_clock::time_point next_bar_{};
};

}  // namespace block_digest
