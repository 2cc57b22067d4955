// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the library knows about the parameters of a kernel. The compiler makes one table for each
/// list of parameter types, so a launch carries only the address of its table.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <flotilla/device/device.hpp>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

struct parameter_info {
  std::size_t offset = 0;         // of the argument, in the bytes of a launch
  std::size_t pointee_bytes = 0;  // the size of the object to which a pointer points; 1 if unknown
  bool is_pointer = false;        // whether the parameter is a pointer to an object
  bool is_read_only = false;      // whether it is a pointer to const
  std::string_view type;          // as the compiler writes it, for messages
};

/// A device_buffer or device_span that is an argument of a launch.
struct argument_range {
  std::size_t argument;  // index of the argument
  std::size_t bytes;
  device_ordinal device;
  // Whether the span has const elements. Used only if the type of the parameter is not known;
  // otherwise parameter_info::is_read_only says what the kernel may do.
  bool is_read_only;
};

/// Returns the name of `T`. Cuts it out of the name of this function, because C++20 has no other
/// way to get the name at compile time.
template <class T>
[[nodiscard]] constexpr std::string_view type_name() noexcept {
  std::string_view const text = __PRETTY_FUNCTION__;  // "… [with T = int*; …]" or "… [T = int *]"
  std::size_t const begin = text.find("T = ") + 4;
  std::size_t const semicolon = text.find("; std::string_view", begin);
  std::size_t const end = semicolon == std::string_view::npos ? text.rfind(']') : semicolon;
  return text.substr(begin, end - begin);
}

template <class T>
[[nodiscard]] constexpr std::size_t size_if_complete() noexcept {
  if constexpr (requires { sizeof(T); }) {
    return sizeof(T);
  } else {
    return 1;  // void, or a class that the host code only declares
  }
}

template <class T>
[[nodiscard]] constexpr parameter_info info_of() noexcept {
  parameter_info made;
  made.type = type_name<T>();
  if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>) {
    using pointee = std::remove_pointer_t<T>;
    made.is_pointer = true;
    made.is_read_only = std::is_const_v<pointee>;
    // sizeof(void) is an extension of gcc.
    made.pointee_bytes = std::is_void_v<pointee> ? 1 : size_if_complete<pointee>();
  }
  return made;
}

/// A list of parameter types.
template <class... Parameters>
struct parameter_types {};

/// Where the arguments of a launch are.
template <class... Parameters>
struct argument_layout {
  static constexpr std::size_t count = sizeof...(Parameters);

 private:
  struct places {
    std::array<std::size_t, count> offsets{};
    std::size_t end = 0;
  };
  static constexpr places find() noexcept {
    std::array<std::size_t, count> const sizes{sizeof(Parameters)...};
    std::array<std::size_t, count> const alignment{alignof(Parameters)...};
    places made;
    for (std::size_t i = 0; i < count; ++i) {
      // as launch::append does
      made.offsets[i] = (made.end + alignment[i] - 1) & ~(alignment[i] - 1);
      made.end = made.offsets[i] + sizes[i];
    }
    return made;
  }
  static constexpr places found = find();

 public:
  static constexpr std::array<std::size_t, count> offsets = found.offsets;
  static constexpr std::uint32_t bytes = static_cast<std::uint32_t>(found.end);
};

template <class... Parameters>
[[nodiscard]] constexpr std::array<parameter_info, sizeof...(Parameters)>
make_parameter_table() noexcept {
  std::array<parameter_info, sizeof...(Parameters)> made{info_of<Parameters>()...};
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i].offset = argument_layout<Parameters...>::offsets[i];
  }
  return made;
}

template <class... Parameters>
inline constexpr auto parameter_table = make_parameter_table<Parameters...>();

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
