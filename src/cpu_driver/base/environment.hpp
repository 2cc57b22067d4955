// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The environment variables of the CPU driver.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace flotilla::cpu_driver {

inline constexpr int max_devices = 64;  // per process

struct environment {
  int devices =
      0;  // FLOTILLA_DEVICES=cpu:N or cpu:N/…; default: one per hardware thread, at most 4
  std::size_t memory_bytes = 0;  // FLOTILLA_CPU_MEMORY: bytes per device; default: 4 GiB
  std::string inject;            // FLOTILLA_CPU_INJECT: see injection.hpp
};

/// Reads the environment variables into `read`. If a variable has an invalid value, returns false
/// and sets `error` to a text that names the variable and the allowed values. Ignores
/// FLOTILLA_DEVICES unless its value begins with "cpu:".
[[nodiscard]] bool read_environment(environment& read, std::string& error);

/// Reads a size such as "4096", "64KiB", "3MiB" or "2GiB". Returns nothing for other texts.
[[nodiscard]] std::optional<std::size_t> parse_bytes(std::string_view text) noexcept;
/// Reads a decimal number without a sign. Returns nothing for other texts.
[[nodiscard]] std::optional<unsigned long long> parse_number(std::string_view text) noexcept;

}  // namespace flotilla::cpu_driver
