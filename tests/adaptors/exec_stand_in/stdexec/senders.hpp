// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Part of the stand-in for stdexec: environments, receivers, operation states, senders and connect
// ([exec.queries], [exec.recv], [exec.opstate], [exec.snd]).

#include <concepts>
#include <exception>
#include <type_traits>
#include <utility>

#include "stop_token.hpp"

namespace stdexec {

// [exec.queryable.concept]
template <class T>
concept queryable = std::destructible<T>;

// [exec.env], with no environment to join
template <class...>
struct env {};

// [exec.get.env]
struct get_env_t {
  template <class T>
  constexpr decltype(auto) operator()(T const& of) const noexcept {
    if constexpr (requires { of.get_env(); }) {
      static_assert(noexcept(of.get_env()), "get_env must be noexcept");
      static_assert(queryable<std::remove_cvref_t<decltype(of.get_env())>>);
      return of.get_env();
    } else {
      return env<>{};
    }
  }
};
inline constexpr get_env_t get_env{};
template <class T>
using env_of_t = decltype(get_env(std::declval<T>()));

// [exec.get.stop.token]
struct get_stop_token_t {
  template <class Env>
  constexpr auto operator()(Env const& of) const noexcept {
    if constexpr (requires { of.query(*this); }) {
      static_assert(noexcept(of.query(*this)), "a query must be noexcept");
      static_assert(stoppable_token<std::remove_cvref_t<decltype(of.query(*this))>>);
      return of.query(*this);
    } else {
      return never_stop_token{};
    }
  }
};
inline constexpr get_stop_token_t get_stop_token{};
template <class T>
using stop_token_of_t = std::remove_cvref_t<decltype(get_stop_token(std::declval<T>()))>;

// Completion functions are ill-formed for a receiver that is an lvalue or a const rvalue.
template <class Receiver>
concept completable = !std::is_lvalue_reference_v<Receiver> && !std::is_const_v<Receiver>;

// [exec.set.value]
struct set_value_t {
  template <completable Receiver, class... Values>
  requires requires(Receiver&& to, Values&&... values) {
    std::move(to).set_value(std::forward<Values>(values)...);
  }
  constexpr void operator()(Receiver&& to, Values&&... values) const noexcept {
    static_assert(noexcept(std::move(to).set_value(std::forward<Values>(values)...)));
    std::move(to).set_value(std::forward<Values>(values)...);
  }
};
// [exec.set.error]
struct set_error_t {
  template <completable Receiver, class Error>
  requires requires(Receiver&& to, Error&& error) {
    std::move(to).set_error(std::forward<Error>(error));
  }
  constexpr void operator()(Receiver&& to, Error&& error) const noexcept {
    static_assert(noexcept(std::move(to).set_error(std::forward<Error>(error))));
    std::move(to).set_error(std::forward<Error>(error));
  }
};
// [exec.set.stopped]
struct set_stopped_t {
  template <completable Receiver>
  requires requires(Receiver&& to) { std::move(to).set_stopped(); }
  constexpr void operator()(Receiver&& to) const noexcept {
    static_assert(noexcept(std::move(to).set_stopped()));
    std::move(to).set_stopped();
  }
};
inline constexpr set_value_t set_value{};
inline constexpr set_error_t set_error{};
inline constexpr set_stopped_t set_stopped{};

// [exec.cmplsig]
template <class T>
concept object_or_reference = std::is_object_v<T> || std::is_reference_v<T>;
template <class>
inline constexpr bool is_completion_signature = false;
template <object_or_reference... Values>
inline constexpr bool is_completion_signature<set_value_t(Values...)> = true;
template <object_or_reference Error>
inline constexpr bool is_completion_signature<set_error_t(Error)> = true;
template <>
inline constexpr bool is_completion_signature<set_stopped_t()> = true;
template <class Signature>
concept completion_signature = is_completion_signature<Signature>;

template <completion_signature...>
struct completion_signatures {};
template <class>
inline constexpr bool are_completion_signatures = false;
template <class... Signatures>
inline constexpr bool are_completion_signatures<completion_signatures<Signatures...>> = true;
template <class T>
concept valid_completion_signatures = are_completion_signatures<T>;

// [exec.recv.concepts]
struct receiver_tag {};
template <class Receiver>
concept receiver =
    std::derived_from<typename std::remove_cvref_t<Receiver>::receiver_concept, receiver_tag> &&
    requires(std::remove_cvref_t<Receiver> const& of) {
  { get_env(of) } -> queryable;
} && std::move_constructible<std::remove_cvref_t<Receiver>> &&
    std::constructible_from<std::remove_cvref_t<Receiver>, Receiver> &&
    !std::is_final_v<std::remove_cvref_t<Receiver>>;

template <class Receiver, class Tag, class... Args>
concept completes_with = std::invocable<Tag, Receiver, Args...>;
template <class Receiver, class Signatures>
inline constexpr bool accepts_all = false;
template <class Receiver, class Signature>
inline constexpr bool accepts = false;
template <class Receiver, class Tag, class... Args>
inline constexpr bool accepts<Receiver, Tag(Args...)> =
    completes_with<std::remove_cvref_t<Receiver>, Tag, Args...>;
template <class Receiver, class... Signatures>
inline constexpr bool accepts_all<Receiver, completion_signatures<Signatures...>> =
    (accepts<Receiver, Signatures> && ...);
template <class Receiver, class Signatures>
concept receiver_of = receiver<Receiver> && accepts_all<Receiver, Signatures>;

// [exec.opstate.start]
struct start_t {
  template <class Operation>
  requires requires(Operation& operation) { operation.start(); }
  constexpr void operator()(Operation& operation) const noexcept {
    static_assert(noexcept(operation.start()), "start must be noexcept");
    operation.start();
  }
  template <class Operation>
  void operator()(Operation const&&) const = delete;
};
inline constexpr start_t start{};

// [exec.opstate]
struct operation_state_tag {};
template <class Operation>
concept operation_state =
    std::derived_from<typename Operation::operation_state_concept, operation_state_tag> &&
    requires(Operation& operation) {
  start(operation);
};

// [exec.snd.concepts]. Awaitables are left out.
struct sender_tag {};
template <class Sender>
concept is_sender = std::derived_from<typename Sender::sender_concept, sender_tag>;
template <class Sender>
inline constexpr bool enable_sender = is_sender<Sender>;
template <class Sender>
concept sender = enable_sender<std::remove_cvref_t<Sender>> &&
    requires(std::remove_cvref_t<Sender> const& of) {
  { get_env(of) } -> queryable;
} && std::move_constructible<std::remove_cvref_t<Sender>> &&
    std::constructible_from<std::remove_cvref_t<Sender>, Sender>;

// [exec.getcomplsigs]. The standard asks a static function only, and no nested type.
template <class Sender, class... Env>
requires(sizeof...(Env) <= 1) consteval auto get_completion_signatures() {
  using plain = std::remove_reference_t<Sender>;
  if constexpr (requires { plain::template get_completion_signatures<Sender, Env...>(); }) {
    return plain::template get_completion_signatures<Sender, Env...>();
  } else {
    return plain::template get_completion_signatures<Sender>();
  }
}
template <class Sender, class... Env>
concept sender_in = sizeof...(Env) <= 1 && sender<Sender>&& requires {
  { get_completion_signatures<Sender, Env...>() } -> valid_completion_signatures;
  typename std::bool_constant<(get_completion_signatures<Sender, Env...>(), true)>;
};
template <class Sender, class... Env>
requires sender_in<Sender, Env...>
using completion_signatures_of_t = decltype(get_completion_signatures<Sender, Env...>());

// [exec.connect]
struct connect_t {
  template <class Sender, class Receiver>
  requires requires(Sender&& from, Receiver&& to) {
    std::forward<Sender>(from).connect(std::forward<Receiver>(to));
  }
  constexpr auto operator()(Sender&& from, Receiver&& to) const {
    using env = env_of_t<Receiver>;
    static_assert(sender<Sender> && receiver<Receiver>);
    static_assert(sender_in<Sender, env>);
    static_assert(receiver_of<Receiver, completion_signatures_of_t<Sender, env>>);
    if constexpr (sender_in<Sender>) {  // [exec.getcomplsigs]: both are the same type
      static_assert(std::same_as<completion_signatures_of_t<Sender>,
                                 completion_signatures_of_t<Sender, env>>);
    }
    using operation = decltype(std::forward<Sender>(from).connect(std::forward<Receiver>(to)));
    static_assert(operation_state<operation>);
    return std::forward<Sender>(from).connect(std::forward<Receiver>(to));
  }
};
inline constexpr connect_t connect{};
template <class Sender, class Receiver>
using connect_result_t = decltype(connect(std::declval<Sender>(), std::declval<Receiver>()));

template <class Sender, class Receiver>
concept sender_to = sender_in<Sender, env_of_t<Receiver>> &&
    receiver_of<Receiver, completion_signatures_of_t<Sender, env_of_t<Receiver>>> &&
    requires(Sender&& from, Receiver&& to) {
  connect(std::forward<Sender>(from), std::forward<Receiver>(to));
};

}  // namespace stdexec
