// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Fuzzes the texts of environment variables: FLOTILLA_SETTINGS and FLOTILLA_CHECK.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <flotilla/error/error.hpp>
#include <flotilla/settings/checks.hpp>
#include <flotilla/settings/settings.hpp>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  std::string_view const text{reinterpret_cast<char const*>(bytes), size};
  try {
    flotilla::settings const read = flotilla::settings::parse(text);
    // What was read can be written and read again.
    for (std::string_view const name : flotilla::device_settings::names()) {
      std::string const value = read.all.text(name);
      if (value.empty()) { continue; }
      flotilla::device_settings again;
      again.set(name, value);
      if (again.text(name) != value) { std::abort(); }
    }
  } catch (flotilla::unknown_setting const&) {}
  try {
    static_cast<void>(flotilla::checks::parse(text));
  } catch (flotilla::invalid_argument const&) {}
  return 0;
}
