// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks and converts the arguments of kernels.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <flotilla/detail/export.hpp>
#include <flotilla/memory/device_buffer.hpp>
#include <flotilla/memory/device_span.hpp>

namespace flotilla {
inline namespace v0_1 {

template <class T, int Rank>
class data;

namespace detail {

struct runtime_impl;

template <class T>
inline constexpr bool is_data = false;
template <class T, int Rank>
inline constexpr bool is_data<data<T, Rank>> = true;
template <class T>
inline constexpr bool is_on_device = false;
template <class T>
inline constexpr bool is_on_device<device_buffer<T>> = true;
template <class T>
inline constexpr bool is_on_device<device_span<T>> = true;

/// A parameter of a kernel, for errors.
struct parameter_place {
  runtime_impl* owner;
  std::uint32_t kernel;  // its index
  std::size_t index;     // of the parameter
  std::size_t bytes;     // of the parameter
};
[[noreturn]] FLOTILLA_EXPORT void refuse_integer(parameter_place const& to, long long value);
[[noreturn]] FLOTILLA_EXPORT void refuse_integer(parameter_place const& to,
                                                 unsigned long long value);

/// Converts an argument to the type of its parameter.
/// @throws invalid_argument  The argument is an integer of a wider type, and would become another
///                           value.
template <class Parameter, class Argument>
[[nodiscard]] Parameter converted(runtime_impl* owner, std::uint32_t kernel, std::size_t index,
                                  Argument& argument) {
  using given = std::remove_cv_t<Argument>;
  auto const made = static_cast<Parameter>(argument);
  if constexpr (std::integral<given> && std::integral<Parameter> &&
                !std::is_same_v<Parameter, bool> && sizeof(given) > sizeof(Parameter) &&
                sizeof(given) <= sizeof(long long)) {
    using widest = std::conditional_t<std::is_signed_v<given>, long long, unsigned long long>;
    if (static_cast<given>(made) != argument) [[unlikely]] {
      refuse_integer({owner, kernel, index, sizeof made}, static_cast<widest>(argument));
    }
  }
  return made;
}

// Compilers print these names in the errors of kernel_argument.
template <std::size_t>
struct argument_index;
template <class>
struct parameter_type;
template <class>
struct argument_type;

/// Checks one argument of a kernel. The indices of arguments begin with 0.
template <class Index, class Parameter, class Argument>
struct kernel_argument;
template <std::size_t Index, class Parameter, class Argument>
struct kernel_argument<argument_index<Index>, parameter_type<Parameter>, argument_type<Argument>> {
  static constexpr bool converts = requires(Argument & argument) {
    static_cast<Parameter>(argument);
  };
  static constexpr bool is_on_device = detail::is_on_device<std::remove_cv_t<Argument>>;
  static constexpr bool is_data = detail::is_data<std::remove_cv_t<Argument>>;
  static constexpr bool is_host_memory = !is_on_device && requires(Argument & argument) {
    argument.data();
  };
  static_assert(converts || !is_on_device,
                "a device_buffer or device_span needs a kernel parameter that is a pointer to its "
                "element type; if the buffer is const, it needs a pointer to const");
  static_assert(converts || !is_host_memory,
                "host memory cannot be a kernel argument; copy it to a device_buffer");
  static_assert(converts || !is_data,
                "say how the kernel uses the data: read(x), write(x), update(x), commute(x) or "
                "reduce(x)");
  static_assert(converts || is_on_device || is_host_memory || is_data,
                "a kernel argument does not convert to the type of its parameter");
  static_assert(!(std::is_floating_point_v<Argument> && std::is_integral_v<Parameter>),
                "a floating-point argument of an integral kernel parameter would lose its "
                "fraction; convert it, for example with static_cast");
};

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
