// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/base/environment.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/processors.hpp"

namespace flotilla::cpu_driver {
namespace {

constexpr std::size_t default_memory = std::size_t{4} << 30;
constexpr std::string_view device_prefix = "cpu:";

std::string_view value_of(char const* name) noexcept {
  char const* const found = std::getenv(name);
  return found != nullptr ? found : "";
}

int default_devices() noexcept {
  return std::clamp(static_cast<int>(base::usable_processors()), 1, 4);
}

}  // namespace

std::optional<unsigned long long> parse_number(std::string_view text) noexcept {
  unsigned long long value = 0;
  auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failed != std::errc{} || end != text.data() + text.size()) { return {}; }
  return value;
}

std::optional<std::size_t> parse_bytes(std::string_view text) noexcept {
  constexpr std::pair<std::string_view, unsigned> suffixes[] = {
      {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
  unsigned shift = 0;
  for (auto const& [suffix, bits] : suffixes) {
    if (text.ends_with(suffix)) {
      shift = bits;
      text.remove_suffix(suffix.size());
      break;
    }
  }
  auto const number = parse_number(text);
  if (!number || *number > std::numeric_limits<std::size_t>::max() >> shift) { return {}; }
  return static_cast<std::size_t>(*number) << shift;
}

bool read_environment(environment& read, std::string& error) {
  read.devices = default_devices();
  read.memory_bytes = default_memory;
  read.inject = value_of("FLOTILLA_CPU_INJECT");

  std::string_view const devices = value_of("FLOTILLA_DEVICES");
  if (devices.starts_with(device_prefix)) {
    // The rest, such as "/green:16", is for the runtime.
    auto const count =
        parse_number(devices.substr(0, devices.find('/')).substr(device_prefix.size()));
    if (!count || *count < 1 || *count > max_devices) {
      error = "FLOTILLA_DEVICES=" + std::string(devices) + ": expected cpu:N with N from 1 to " +
              std::to_string(max_devices);
      return false;
    }
    read.devices = static_cast<int>(*count);
  }
  std::string_view const memory = value_of("FLOTILLA_CPU_MEMORY");
  if (!memory.empty()) {
    auto const bytes = parse_bytes(memory);
    if (!bytes) {
      error = "FLOTILLA_CPU_MEMORY=" + std::string(memory) +
              ": expected a number of bytes, optionally followed by KiB, MiB or GiB";
      return false;
    }
    read.memory_bytes = *bytes;
  }
  return true;
}

}  // namespace flotilla::cpu_driver
