// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "console.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace block_digest {

namespace {

// Escapes control characters, because a file name may contain any byte except NUL and '/'. Without
// the escapes, a name could start a new line or control the terminal.
std::string printable(std::string_view text) {
  std::string shown;
  for (char const c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\') {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(c));
      shown += c == '\\' ? "\\\\" : c == '\n' ? "\\n" : escaped;
    } else {
      shown += c;
    }
  }
  return shown;
}

}  // namespace

console::console() : terminal_{::isatty(STDERR_FILENO) == 1} {}

void console::failure(std::string_view subject, std::string_view why) {
  std::lock_guard const lock{mutex_};
  clear_bar();
  ++failures_;
  std::fprintf(stderr, "block_digest: %s: %s\n", printable(subject).c_str(),
               std::string{why}.c_str());
}

std::uint64_t console::failures() const {
  std::lock_guard const lock{mutex_};
  return failures_;
}

void console::progress(std::uint64_t done, std::uint64_t total) {
  if (!terminal_ || total == 0) { return; }
  std::lock_guard const lock{mutex_};
  auto const now = std::chrono::steady_clock::now();
  if (now < next_bar_) { return; }
  next_bar_ = now + std::chrono::milliseconds{100};
  // Clamped to 1, because files may grow after `total` was computed.
  double const part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  constexpr int width = 40;
  std::string bar(static_cast<std::size_t>(part * width), '#');
  bar.resize(width, '.');
  std::fprintf(stderr, "\r[%s] %3d %%  %.1f MB", bar.c_str(), static_cast<int>(part * 100),
               static_cast<double>(done) / 1e6);
  bar_shown_ = true;
}

void console::clear() {
  std::lock_guard const lock{mutex_};
  clear_bar();
}

void console::clear_bar() {
  if (bar_shown_) { std::fputs("\r\033[K", stderr); }
  bar_shown_ = false;
}

}  // namespace block_digest
