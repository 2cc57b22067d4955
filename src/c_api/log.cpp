// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/c/log.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>

#include <flotilla/error/log.hpp>

#include "c_api/call.hpp"

namespace flotilla::c_api {

namespace {

using c_function = void (*)(void* user, flotilla_log_message const* message);

// The functions below convert a level by its number.
static_assert(static_cast<int>(log_level::error) == FLOTILLA_LOG_ERROR);
static_assert(static_cast<int>(log_level::warning) == FLOTILLA_LOG_WARNING);
static_assert(static_cast<int>(log_level::info) == FLOTILLA_LOG_INFO);
static_assert(static_cast<int>(log_level::debug) == FLOTILLA_LOG_DEBUG);

log_level level_of(int given) {
  if (given < FLOTILLA_LOG_ERROR || given > FLOTILLA_LOG_DEBUG) {
    throw refused_call(FLOTILLA_INVALID_ARGUMENT,
                       "the log has no level " + std::to_string(given) +
                           "; the levels are 0 (error), 1 (warning), 2 (info) and 3 (debug)");
  }
  return static_cast<log_level>(given);
}

std::uint64_t nanoseconds_of(std::chrono::system_clock::time_point time) noexcept {
  using std::chrono::nanoseconds;
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<nanoseconds>(time.time_since_epoch()).count());
}

/// Passes a message to a function of the program. The text of a message does not end with a zero,
/// so it is copied. Most texts fit into `small`, so that a message about a lack of memory needs
/// none.
void pass(c_function function, void* user, log_message const& message) {
  std::array<char, 1024> small;
  std::string large;
  char const* text = small.data();
  try {
    if (message.text.size() >= small.size()) {
      large = message.text;
      text = large.c_str();
    }
  } catch (std::bad_alloc const&) {  // the program gets the first 1023 characters
  }
  if (text == small.data()) {
    std::size_t const length = std::min(message.text.size(), small.size() - 1);
    message.text.copy(small.data(), length);
    small[length] = '\0';
  }
  flotilla_log_message const passed{sizeof(flotilla_log_message),
                                    static_cast<flotilla_log_level>(message.level),
                                    message.device ? static_cast<int>(message.device->value) : -1,
                                    nanoseconds_of(message.time),
                                    message.thread,
                                    text};
  function(user, &passed);
}

}  // namespace

}  // namespace flotilla::c_api

using namespace flotilla::c_api;

flotilla_status flotilla_set_log_level(int level) {
  return guarded("flotilla_set_log_level", [&] { flotilla::set_log_level(level_of(level)); });
}

flotilla_status flotilla_get_log_level(flotilla_log_level* level) {
  return guarded("flotilla_get_log_level", [&] {
    required(level, "level") = static_cast<flotilla_log_level>(flotilla::current_log_level());
  });
}

flotilla_status flotilla_set_log_handler(void (*function)(void* user,
                                                          flotilla_log_message const* message),
                                         void* user) {
  return guarded("flotilla_set_log_handler", [&] {
    if (function == nullptr) { return flotilla::set_log_handler({}); }
    flotilla::set_log_handler(
        [function, user](flotilla::log_message const& message) { pass(function, user, message); });
  });
}
