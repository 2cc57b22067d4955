// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The operations of reductions.

#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <type_traits>

#include <flotilla/detail/data_use.hpp>

namespace flotilla {
inline namespace v0_1 {

/// Returns the smaller of two objects.
struct minimum {
  template <class T>
  [[nodiscard]] constexpr T operator()(T const& a, T const& b) const {
    return b < a ? b : a;
  }
};
/// Returns the larger of two objects.
struct maximum {
  template <class T>
  [[nodiscard]] constexpr T operator()(T const& a, T const& b) const {
    return a < b ? b : a;
  }
};

/// The object that an operation combines with any other object without changing it:
/// op(identity, x) == x. Its static member `value` is a constant expression of type T. Specialize
/// it for your own operations, and for types that are not arithmetic: for these, only the identity
/// of `std::plus<>` is known, which is T{}.
template <class Op, class T>
struct identity_of;

template <class T>
struct identity_of<std::plus<>, T> {
  static constexpr T value{};
};
template <class T>
requires(std::is_arithmetic_v<T>) struct identity_of<std::multiplies<>, T> {
  static constexpr T value{1};
};
template <class T>
requires(std::integral<T>) struct identity_of<std::bit_or<>, T> {
  static constexpr T value{};
};
template <class T>
requires(std::integral<T>) struct identity_of<std::bit_xor<>, T> {
  static constexpr T value{};
};
template <class T>
requires(std::integral<T>) struct identity_of<std::bit_and<>, T> {
  static constexpr T value = static_cast<T>(~T{});
};
template <class T>
requires(std::is_arithmetic_v<T>) struct identity_of<minimum, T> {
  using limits = std::numeric_limits<T>;
  static constexpr T value = limits::has_infinity ? limits::infinity() : limits::max();
};
template <class T>
requires(std::is_arithmetic_v<T>) struct identity_of<maximum, T> {
  using limits = std::numeric_limits<T>;
  static constexpr T value = limits::has_infinity ? -limits::infinity() : limits::lowest();
};
template <class T>
struct identity_of<std::plus<T>, T> : identity_of<std::plus<>, T> {};
template <class T>
struct identity_of<std::multiplies<T>, T> : identity_of<std::multiplies<>, T> {};
template <class T>
struct identity_of<std::bit_or<T>, T> : identity_of<std::bit_or<>, T> {};
template <class T>
struct identity_of<std::bit_xor<T>, T> : identity_of<std::bit_xor<>, T> {};
template <class T>
struct identity_of<std::bit_and<T>, T> : identity_of<std::bit_and<>, T> {};

/// An associative and commutative operation without state, whose identity is known.
template <class Op, class T>
concept reduction_of = std::is_empty_v<Op> && std::default_initializable<Op> &&
    std::is_invocable_r_v<T, Op const&, T const&, T const&> && requires {
  { identity_of<Op, T>::value } -> std::convertible_to<T>;
};

namespace detail {

template <class Op, class T>
struct reduction_table {
  static void combine(void* to, void const* from, std::size_t count) {
    Op const op{};
    T* const all = static_cast<T*>(to);
    T const* const other = static_cast<T const*>(from);
    for (std::size_t i = 0; i < count; ++i) { all[i] = static_cast<T>(op(all[i], other[i])); }
  }
  static constexpr T identity = identity_of<Op, T>::value;
  static constexpr reduction how{&identity, &combine};
};

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
