// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The stop token of a task.

#include <memory>
#include <stop_token>
#include <utility>

namespace flotilla {
inline namespace v0_1 {

/// Holds a std::stop_token, from which it converts. In a co_await expression, g++ 12 copies a
/// temporary task_options bit by bit and later destroys both objects, so a plain std::stop_token
/// would be released twice. A stop_option releases its token only if it is the object that was
/// constructed.
///
/// Threads: same rules as for a std::stop_token.
class stop_option {
 public:
  stop_option() noexcept : token_{} {}
  stop_option(std::stop_token token) noexcept : token_{std::move(token)} {}
  stop_option(stop_option const& other) noexcept : token_{other.token_} {}
  stop_option& operator=(stop_option const& other) noexcept {
    token_ = other.token_;
    return *this;
  }
  ~stop_option() {
    if (owner_ == this) { std::destroy_at(&token_); }
  }

  [[nodiscard]] bool stop_possible() const noexcept { return token_.stop_possible(); }
  [[nodiscard]] std::stop_token const& token() const noexcept { return token_; }

 private:
  union {
    std::stop_token token_;
  };
  stop_option const* owner_ = this;
};

}  // namespace v0_1
}  // namespace flotilla
