#pragma once
// The number that a C caller has passed where the API has an enum: it may be any, and reading it as
// the enum would be undefined for those that the enum cannot hold.

#include <cstring>
#include <type_traits>

namespace flotilla::cpu_driver {

template <class Enum>
[[nodiscard]] int number_of(Enum const& passed) noexcept {
  static_assert(std::is_enum_v<Enum> && sizeof(Enum) == sizeof(int));
  int number = 0;
  std::memcpy(&number, &passed, sizeof number);
  return number;
}

}  // namespace flotilla::cpu_driver
