#pragma once
// Reads an enum that a C caller has passed as a number. The caller may have passed any number, and
// using a value that the enum cannot hold is undefined behaviour.

#include <cstring>
#include <type_traits>

namespace flotilla::cpu_driver {

template <class Enum>
[[nodiscard]] int raw_enum(Enum const& passed) noexcept {
  static_assert(std::is_enum_v<Enum> && sizeof(Enum) == sizeof(int));
  int number = 0;
  std::memcpy(&number, &passed, sizeof number);
  return number;
}

}  // namespace flotilla::cpu_driver
