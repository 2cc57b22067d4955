// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Functions that run after tasks, as the library stores them.

#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include <flotilla/detail/export.hpp>

namespace flotilla {
inline namespace v0_1 {

class ticket;

namespace detail {

/// Owns a function and hides its type.
struct FLOTILLA_EXPORT continuation {
  continuation() = default;
  continuation(continuation const&) = delete;
  continuation& operator=(continuation const&) = delete;
  virtual ~continuation();
  /// @param why  The first error of the predecessors, or null.
  virtual void run(std::exception_ptr why) = 0;
  /// Whether the function of a host task runs even if a predecessor has failed.
  [[nodiscard]] virtual bool takes_errors() const noexcept { return false; }
};

template <class F>
struct continuation_of final : continuation {
  explicit continuation_of(F&& callable) : held(std::move(callable)) {}
  explicit continuation_of(F const& callable) : held(callable) {}
  void run(std::exception_ptr why) override { held(std::move(why)); }
  F held;
};

[[noreturn]] FLOTILLA_EXPORT void refuse_null_continuation();

/// @throws invalid_argument  `callable` is an empty std::function or a null pointer.
template <class F>
[[nodiscard]] std::unique_ptr<continuation> make_continuation(F&& callable) {
  if constexpr (requires { static_cast<bool>(callable == nullptr); }) {
    if (callable == nullptr) { refuse_null_continuation(); }
  }
  return std::make_unique<continuation_of<std::decay_t<F>>>(std::forward<F>(callable));
}

/// Implements ticket::then. Before it returns, `callable` may run, and may destroy `task`.
FLOTILLA_EXPORT void attach(ticket const& task, std::unique_ptr<continuation> callable);
/// Returns whether the task has ended. Never pumps. @throws invalid_argument, used_after_fork
[[nodiscard]] FLOTILLA_EXPORT bool has_ended(ticket const& task);

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
