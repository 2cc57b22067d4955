// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Returns the number that a C program has passed as an enum. The program may have passed any
// number. In C++, using an enum whose number is out of range would be undefined behaviour.

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
