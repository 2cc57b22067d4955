// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Fuzzes PTX, which flotilla_make_twins reads and extends.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "make_twins/add_twins.hpp"
#include "make_twins/scanner.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  try {
    auto const made = flotilla::make_twins::add_twins({reinterpret_cast<char const*>(bytes), size});
    static_cast<void>(flotilla::make_twins::report({made}));
  } catch (flotilla::make_twins::malformed_ptx const&) {}
  return 0;
}
