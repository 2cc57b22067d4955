// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/trace_environment.hpp"

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include <flotilla/error/error.hpp>

namespace flotilla::dispatch {

std::optional<trace_options> trace_options_of_environment() {
  char const* const file = std::getenv("FLOTILLA_TRACE");
  char const* const every = std::getenv("FLOTILLA_TRACE_EVERY");
  bool const has_file = file != nullptr && *file != '\0';
  if (!has_file && every == nullptr) { return std::nullopt; }
  if (!has_file) {
    throw unknown_setting(
        "environment variable FLOTILLA_TRACE_EVERY is set, but FLOTILLA_TRACE names no file");
  }
  trace_options made{.file = file};
  if (every != nullptr) {
    std::string_view const text{every};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), made.every);
    if (error != std::errc{} || end != text.data() + text.size() || made.every == 0) {
      throw unknown_setting("environment variable FLOTILLA_TRACE_EVERY: '" + std::string{text} +
                            "' is not a number of tasks; write a number from 1 to 4294967295");
    }
  }
  return made;
}

}  // namespace flotilla::dispatch
