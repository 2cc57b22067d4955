// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Part of the stand-in for stdexec: stop tokens ([stoptoken]).

#include <concepts>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace stdexec {

template <template <class> class>
struct check_type_alias_exists;

// [stoptoken.concepts]
template <class Token>
concept stoppable_token = requires(Token const token) {
  typename check_type_alias_exists<Token::template callback_type>;
  { token.stop_requested() }
  noexcept->std::same_as<bool>;
  { token.stop_possible() }
  noexcept->std::same_as<bool>;
  { Token(token) }
  noexcept;
}
&&std::copyable<Token>&& std::equality_comparable<Token>;

// [stoptoken.never]
class never_stop_token {
  struct callback {
    template <class Initializer>
    explicit callback(never_stop_token, Initializer&&) noexcept {}
  };

 public:
  template <class>
  using callback_type = callback;
  static constexpr bool stop_requested() noexcept { return false; }
  static constexpr bool stop_possible() noexcept { return false; }
  bool operator==(never_stop_token const&) const = default;
};

class inplace_stop_source;
template <class Callback>
class inplace_stop_callback;

// [stoptoken.inplace]. It refers to its source, and does not keep it alive.
class inplace_stop_token {
 public:
  template <class Callback>
  using callback_type = inplace_stop_callback<Callback>;
  inplace_stop_token() = default;
  [[nodiscard]] bool stop_requested() const noexcept;
  [[nodiscard]] bool stop_possible() const noexcept { return source_ != nullptr; }
  bool operator==(inplace_stop_token const&) const = default;

 private:
  friend class inplace_stop_source;
  template <class>
  friend class inplace_stop_callback;
  explicit inplace_stop_token(inplace_stop_source const* source) noexcept : source_{source} {}
  inplace_stop_source const* source_ = nullptr;
};

// [stopsource.inplace]. The standard library's source has the same semantics; only its state is
// elsewhere.
class inplace_stop_source {
 public:
  inplace_stop_source() = default;
  inplace_stop_source(inplace_stop_source const&) = delete;
  inplace_stop_source& operator=(inplace_stop_source const&) = delete;
  [[nodiscard]] inplace_stop_token get_token() const noexcept { return inplace_stop_token{this}; }
  [[nodiscard]] bool stop_requested() const noexcept { return source_.stop_requested(); }
  bool request_stop() noexcept { return source_.request_stop(); }

 private:
  template <class>
  friend class inplace_stop_callback;
  std::stop_source source_;
};

inline bool inplace_stop_token::stop_requested() const noexcept {
  return source_ != nullptr && source_->stop_requested();
}

// [stopcallback.inplace]
template <class Callback>
class inplace_stop_callback {
  static_assert(std::invocable<Callback> && std::destructible<Callback>);
  // A callback that throws calls std::terminate.
  static_assert(std::is_nothrow_invocable_v<Callback>);

 public:
  template <class Initializer>
  requires std::constructible_from<Callback, Initializer>
  explicit inplace_stop_callback(inplace_stop_token token, Initializer&& init) noexcept(
      std::is_nothrow_constructible_v<Callback, Initializer>)
      : callback_{token.source_ == nullptr ? std::stop_token{} : token.source_->source_.get_token(),
                  std::forward<Initializer>(init)} {}
  inplace_stop_callback(inplace_stop_callback const&) = delete;
  inplace_stop_callback& operator=(inplace_stop_callback const&) = delete;

 private:
  std::stop_callback<Callback> callback_;
};

}  // namespace stdexec
