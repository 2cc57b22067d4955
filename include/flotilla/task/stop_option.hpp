// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The stop token of a task.

#include <cstddef>
#include <memory>
#include <new>
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
  constexpr stop_option() noexcept = default;
  stop_option(std::stop_token token) noexcept : owner_{this} {
    ::new (static_cast<void*>(bytes_)) std::stop_token(std::move(token));
  }
  stop_option(stop_option const& other) noexcept {
    if (other.owner_ != nullptr) { *this = other; }
  }
  stop_option& operator=(stop_option const& other) noexcept {
    if (owner_ == this) {
      *place() = other.token();
    } else {
      ::new (static_cast<void*>(bytes_)) std::stop_token(other.token());
      owner_ = this;
    }
    return *this;
  }
  [[gnu::always_inline]] constexpr ~stop_option() {
    if (owner_ == this) { release(); }
  }

  [[nodiscard]] bool stop_possible() const noexcept {
    return owner_ != nullptr && place()->stop_possible();
  }
  [[nodiscard]] std::stop_token token() const noexcept {
    return owner_ == nullptr ? std::stop_token{} : *place();
  }

 private:
  [[nodiscard]] std::stop_token* place() noexcept {
    return std::launder(reinterpret_cast<std::stop_token*>(bytes_));
  }
  [[nodiscard]] std::stop_token const* place() const noexcept {
    return std::launder(reinterpret_cast<std::stop_token const*>(bytes_));
  }
  void release() noexcept { std::destroy_at(place()); }

  alignas(std::stop_token) std::byte bytes_[sizeof(std::stop_token)]{};
  stop_option const* owner_ = nullptr;  // the object that was constructed; null: there is no token
};

}  // namespace v0_1
}  // namespace flotilla
