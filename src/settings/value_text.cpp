// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "settings/value_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include <flotilla/error/error.hpp>

#include "base/ascii.hpp"

namespace flotilla {
inline namespace v0_1 {

namespace {

template <class Value, std::size_t N>
using words = std::array<std::pair<std::string_view, Value>, N>;

constexpr words<wait_policy, 5> wait_policy_names{{{"automatic", wait_policy::automatic},
                                                   {"spin", wait_policy::spin},
                                                   {"yield", wait_policy::yield},
                                                   {"blocking", wait_policy::blocking},
                                                   // the driver's name before CUDA 4.0
                                                   {"blocking_sync", wait_policy::blocking}}};
constexpr words<cache_preference, 4> cache_names{{{"none", cache_preference::none},
                                                  {"shared", cache_preference::shared},
                                                  {"l1", cache_preference::l1},
                                                  {"equal", cache_preference::equal}}};
constexpr words<bank_size, 3> bank_names{
    {{"default", bank_size::standard}, {"4", bank_size::four}, {"8", bank_size::eight}}};
constexpr words<isolation, 2> isolation_names{
    {{"none", isolation::none}, {"process", isolation::process}}};
constexpr words<spare, 2> spare_names{{{"none", spare::none}, {"warm", spare::warm}}};
constexpr words<bool, 2> bool_names{{{"true", true}, {"false", false}}};

[[noreturn]] void refuse(std::string_view key, std::string_view value, std::string const& allowed) {
  throw unknown_setting("setting '" + std::string{key} + "' cannot be '" + std::string{value} +
                        "'; it must be " + allowed);
}

template <class Names, class Value>
void look_up(Names const& names, std::string_view key, std::string_view value, Value& into) {
  std::string all;
  for (auto const& [name, meaning] : names) {
    if (name == value) {
      into = meaning;
      return;
    }
    all += (all.empty() ? "" : ", ") + std::string{name};
  }
  refuse(key, value, "one of " + all);
}

template <class Names, class Value>
std::string name_of(Names const& names, Value value) {
  for (auto const& [name, meaning] : names) {
    if (meaning == value) { return std::string{name}; }
  }
  return "(" + std::to_string(static_cast<int>(value)) + ")";
}

std::optional<unsigned> count(std::string_view text) {
  unsigned number = 0;
  auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{} || end != text.data() + text.size()) { return std::nullopt; }
  return number;
}

}  // namespace

std::string to_string(wait_policy value) { return name_of(wait_policy_names, value); }
std::string to_string(cache_preference value) { return name_of(cache_names, value); }
std::string to_string(bank_size value) { return name_of(bank_names, value); }
std::string to_string(isolation value) { return name_of(isolation_names, value); }
std::string to_string(spare value) { return name_of(spare_names, value); }

std::string to_string(context_source const& source) {
  switch (source.kind) {
    case context_source::kinds::owned: return "owned";
    case context_source::kinds::primary: return "primary";
    case context_source::kinds::adopted: return "adopted";
    case context_source::kinds::green: return "green:" + std::to_string(source.multiprocessors);
  }
  return "(" + std::to_string(static_cast<int>(source.kind)) + ")";
}

}  // namespace v0_1
}  // namespace flotilla

namespace flotilla::settings_text {

namespace {

struct time_unit {
  std::string_view name;
  std::int64_t milliseconds;
};
constexpr std::array<time_unit, 4> time_units{
    {{"ms", 1}, {"s", 1000}, {"min", 60'000}, {"h", 3'600'000}}};
constexpr std::int64_t max_hours = 24 * 365;  // so that a sum with the current time is in range

}  // namespace

void read(std::string_view key, std::string_view value, wait_policy& into) {
  look_up(wait_policy_names, key, value, into);
}
void read(std::string_view key, std::string_view value, cache_preference& into) {
  look_up(cache_names, key, value, into);
}
void read(std::string_view key, std::string_view value, bank_size& into) {
  look_up(bank_names, key, value, into);
}
void read(std::string_view key, std::string_view value, isolation& into) {
  look_up(isolation_names, key, value, into);
}
void read(std::string_view key, std::string_view value, spare& into) {
  look_up(spare_names, key, value, into);
}
void read(std::string_view key, std::string_view value, bool& into) {
  look_up(bool_names, key, value, into);
}

void read(std::string_view key, std::string_view value, unsigned& into) {
  std::optional<unsigned> const number = count(value);
  if (!number) { refuse(key, value, "a count such as 16"); }
  into = *number;
}

void read(std::string_view key, std::string_view value, std::size_t& into) {
  std::size_t number = 0;
  auto const [end, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
  std::string_view const unit{end, static_cast<std::size_t>(value.data() + value.size() - end)};
  int shift = -1;
  if (unit.empty() || unit == "B") { shift = 0; }
  if (unit == "KiB") { shift = 10; }
  if (unit == "MiB") { shift = 20; }
  if (unit == "GiB") { shift = 30; }
  if (failed != std::errc{} || shift < 0 || (number << shift) >> shift != number) {
    refuse(key, value,
           "a number of bytes, with or without a unit, such as 65536, 64KiB, 16MiB or 1GiB");
  }
  into = number << shift;
}

void read(std::string_view key, std::string_view value, context_source& into) {
  if (value == "owned") {
    into = context_source::owned();
  } else if (value == "primary") {
    into = context_source::primary();
  } else if (value == "adopted") {
    throw unknown_setting(
        "setting '" + std::string{key} +
        "' cannot be 'adopted' in text, because an adopted context needs a handle; "
        "set it in code");
  } else if (std::optional<unsigned> const sms =
                 value.starts_with("green:") ? count(value.substr(6)) : std::nullopt;
             sms && *sms > 0) {
    into = context_source::green(*sms);
  } else {
    refuse(key, value, "owned, primary, or green:N for N multiprocessors");
  }
}

void read(std::string_view key, std::string_view value, std::chrono::milliseconds& into) {
  std::int64_t number = 0;
  auto const [end, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
  std::string_view const unit{end, static_cast<std::size_t>(value.data() + value.size() - end)};
  auto const* const known =
      std::find_if(time_units.begin(), time_units.end(),
                   [unit](time_unit const& each) { return each.name == unit; });
  bool const is_zero = unit.empty() && number == 0;
  if (failed != std::errc{} || (known == time_units.end() && !is_zero) || number < 0 ||
      number > max_hours * time_units.back().milliseconds / (is_zero ? 1 : known->milliseconds)) {
    refuse(key, value,
           "a time with a unit, such as 500ms, 10s, 2min or 1h, up to " +
               std::to_string(max_hours) + "h, or 0");
  }
  into = std::chrono::milliseconds{is_zero ? 0 : number * known->milliseconds};
}

std::string write(bool value) { return value ? "true" : "false"; }
std::string write(unsigned value) { return std::to_string(value); }

std::string write(std::size_t value) {
  constexpr std::array<char const*, 4> units{"", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  for (; value != 0 && value % 1024 == 0 && unit + 1 < units.size(); ++unit) { value /= 1024; }
  return std::to_string(value) + units[unit];
}

std::string write(std::chrono::milliseconds value) {
  if (value.count() == 0) { return "0"; }
  auto const unit = std::find_if(time_units.rbegin(), time_units.rend(), [value](auto const& each) {
    return value.count() % each.milliseconds == 0;
  });
  return std::to_string(value.count() / unit->milliseconds) + std::string{unit->name};
}

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && base::is_blank(text.front())) { text.remove_prefix(1); }
  while (!text.empty() && base::is_blank(text.back())) { text.remove_suffix(1); }
  return text;
}

}  // namespace flotilla::settings_text
