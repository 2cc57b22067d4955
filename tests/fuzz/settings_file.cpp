// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Fuzzes settings files (FLOTILLA_CONFIG).

#include <flotilla/error/error.hpp>
#include <flotilla/settings/settings.hpp>

#include "fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  flotilla::test::memory_file const file{bytes, size};
  try {
    static_cast<void>(flotilla::settings::read(file.path()));
  } catch (flotilla::unknown_setting const&) {}
  return 0;
}
