// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs Python's signal handlers while a thread waits without the GIL.

#include <nanobind/nanobind.h>

#include <chrono>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include <flotilla/detail/wait_interruption.hpp>

namespace flotilla::python {

namespace nb = nanobind;

/// Calls C++ functions that may wait. Meanwhile, Python's signal handlers run. If one of them
/// raises, as that of Ctrl-C does, the wait ends, and the call raises this exception.
/// Threads: the caller of each function must hold the GIL.
class interruptible_call {
 public:
  using clock = std::chrono::steady_clock;
  /// @param give_up          At this time, waits end too, and throw flotilla::error.
  /// @param was_interrupted  Set if a signal handler raises. May be null.
  explicit interruptible_call(std::optional<clock::time_point> give_up = {},
                              bool* was_interrupted = nullptr) noexcept
      : give_up_{give_up},
        was_interrupted_{was_interrupted},
        outer_{std::exchange(innermost(), this)},
        waits_{&must_end, this} {}
  interruptible_call(interruptible_call const&) = delete;
  interruptible_call& operator=(interruptible_call const&) = delete;
  ~interruptible_call() { innermost() = outer_; }

  /// Calls `function` without the GIL.
  template <class F>
  auto run(F&& function) {
    auto const released = [&function] {
      nb::gil_scoped_release const gil;
      return std::forward<F>(function)();
    };
    try {
      if constexpr (std::is_void_v<decltype(function())>) {
        released();
        raise();
      } else {
        auto result = released();
        raise();
        return result;
      }
    } catch (...) {
      raise();  // whatever the library has made of the interruption
      throw;
    }
  }
  /// Raises what a signal handler has raised during a call in this thread that has not returned.
  static void raise_in_this_thread();
  /// Sleeps for a millisecond. @throws the exception of a signal handler
  void sleep();

 private:
  static interruptible_call*& innermost() noexcept;
  static bool must_end(void* self) noexcept;
  void raise();

  std::optional<clock::time_point> const give_up_;
  bool* const was_interrupted_;
  interruptible_call* const outer_;
  std::optional<nb::python_error> raised_;  // by a signal handler
  detail::interruptible_waits const waits_;
};

/// Calls a function that waits, for a destructor, which cannot raise.
/// @return false  A signal handler has raised, so the wait has ended. The exception of Ctrl-C is
///                raised again where exceptions can be raised.
[[nodiscard]] bool wait_in_destructor(std::function<void()> const& wait) noexcept;

/// Raises what signal handlers have raised, if they are due. The caller must hold the GIL.
void run_signal_handlers();

}  // namespace flotilla::python
