#pragma once
// The environment variables of the CPU driver.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace flotilla::cpu_driver {

inline constexpr int max_devices = 64;  // of this driver, in one process

struct environment {
  int devices = 0;               // FLOTILLA_DEVICES=cpu:N; default: one for each core, at most 4
  std::size_t memory_bytes = 0;  // FLOTILLA_CPU_MEMORY, of one device; default: 4 GiB
  std::string inject;            // FLOTILLA_CPU_INJECT: see injection.hpp
};

/// False if a variable has a wrong value; `error` then says which variable and what is allowed.
/// Ignores FLOTILLA_DEVICES if it names devices other than CPU devices.
[[nodiscard]] bool read_environment(environment& read, std::string& error);

/// Reads a size such as "4096", "64KiB", "3MiB" or "2GiB".
[[nodiscard]] std::optional<std::size_t> parse_bytes(std::string_view text) noexcept;
/// Reads a decimal number without sign.
[[nodiscard]] std::optional<unsigned long long> parse_number(std::string_view text) noexcept;

}  // namespace flotilla::cpu_driver
