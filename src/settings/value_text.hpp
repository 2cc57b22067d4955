// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts values of settings to text and back.

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

#include <flotilla/error/error.hpp>
#include <flotilla/settings/settings.hpp>

namespace flotilla::settings_text {

// Each function converts the text `value` of the setting `key`.
// @throws unknown_setting  The text is invalid. The message has the key, the text and the allowed
//                          values.
void read(std::string_view key, std::string_view value, wait_policy& into);
void read(std::string_view key, std::string_view value, cache_preference& into);
void read(std::string_view key, std::string_view value, bank_size& into);
void read(std::string_view key, std::string_view value, isolation& into);
void read(std::string_view key, std::string_view value, spare& into);
void read(std::string_view key, std::string_view value, bool& into);
void read(std::string_view key, std::string_view value, unsigned& into);     // a count
void read(std::string_view key, std::string_view value, std::size_t& into);  // a size
void read(std::string_view key, std::string_view value, context_source& into);
void read(std::string_view key, std::string_view value, std::chrono::milliseconds& into);

[[nodiscard]] std::string write(bool value);
[[nodiscard]] std::string write(unsigned value);
/// Uses the largest unit that divides the value without a remainder.
[[nodiscard]] std::string write(std::size_t value);
/// Uses the largest unit that divides the value without a remainder.
[[nodiscard]] std::string write(std::chrono::milliseconds value);
template <class Word>
[[nodiscard]] std::string write(Word const& value) {
  return to_string(value);
}

/// Calls visit(name) for each name of a list that is separated by commas, without white space
/// around it. An empty text is an empty list.
template <class Visit>
void for_each_name(std::string_view text, Visit const& visit);

/// Reads an environment variable with `List::parse`. @return an empty list if it is not set.
/// @throws unknown_setting  The message begins with the name of the variable.
template <class List>
[[nodiscard]] List from_environment(char const* variable) {
  char const* const text = std::getenv(variable);
  if (text == nullptr) { return {}; }
  try {
    return List::parse(text);
  } catch (unknown_setting const& wrong) {
    throw unknown_setting("environment variable " + std::string{variable} + ": " + wrong.what());
  }
}

/// Returns the text without leading and trailing white space.
[[nodiscard]] std::string_view trimmed(std::string_view text) noexcept;

template <class Visit>
void for_each_name(std::string_view text, Visit const& visit) {
  for (bool more = !trimmed(text).empty(); more;) {
    std::size_t const comma = text.find(',');
    visit(trimmed(text.substr(0, comma)));
    more = comma != std::string_view::npos;
    if (more) { text.remove_prefix(comma + 1); }
  }
}

}  // namespace flotilla::settings_text
