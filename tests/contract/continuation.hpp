// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers for tests of continuations.

#include <atomic>
#include <exception>
#include <stdexcept>
#include <string>

#include <flotilla/error/error.hpp>

namespace flotilla::test {

struct my_error : std::runtime_error {
  my_error() : std::runtime_error{"mine"} {}
};

/// Counts the continuations that ran, and those that received `poisoned`.
struct poison_counter {
  void operator()(std::exception_ptr const& why) {
    ++ran;
    try {
      if (why != nullptr) { std::rethrow_exception(why); }
    } catch (poisoned const&) { ++poisoned_ones; } catch (error const&) {
    }
  }
  std::atomic<int> ran{0}, poisoned_ones{0};
};

/// Returns the message of the error that a continuation received, or "none" if there was no error.
[[nodiscard]] inline std::string message_of(std::exception_ptr const& why) {
  if (why == nullptr) { return "none"; }
  try {
    std::rethrow_exception(why);
  } catch (std::exception const& known) { return known.what(); } catch (...) {
    return "?";
  }
}

}  // namespace flotilla::test
