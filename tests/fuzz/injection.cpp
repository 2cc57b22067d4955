// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Fuzzes the text of FLOTILLA_CPU_INJECT.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cpu_driver/fault/injection.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  std::string error;
  bool const is_valid =
      flotilla::cpu_driver::injection::apply({reinterpret_cast<char const*>(bytes), size}, error);
  if (is_valid != error.empty()) { std::abort(); }
  flotilla::cpu_driver::injection::clear();
  return 0;
}
