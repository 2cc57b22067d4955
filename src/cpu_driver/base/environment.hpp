#pragma once
// What the environment asks of the CPU driver.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace flotilla::cpu_driver {

struct environment {
  int devices = 0;               // FLOTILLA_DEVICES=cpu:N; else as the machine suggests
  std::size_t memory_bytes = 0;  // FLOTILLA_CPU_MEMORY, a device's: default 4 GiB
  std::string inject;            // FLOTILLA_CPU_INJECT: see injection.hpp
};

/// False: `error` says which variable is wrong, and how. FLOTILLA_DEVICES in a form that names
/// other than CPU devices is not ours to judge.
[[nodiscard]] bool read_environment(environment& read, std::string& error);

/// "4096", "64KiB", "3MiB", "2GiB".
[[nodiscard]] std::optional<std::size_t> parse_bytes(std::string_view text) noexcept;
/// Digits only.
[[nodiscard]] std::optional<unsigned long long> parse_number(std::string_view text) noexcept;

}  // namespace flotilla::cpu_driver
