// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/check/text.hpp"

#include <array>
#include <charconv>

namespace flotilla::dispatch::check_text {

std::string with_label(std::string what, std::string_view label) {
  if (!label.empty()) { what += ", label '" + std::string{label} + "'"; }
  return what;
}

std::string of_kernel(std::string_view kernel, std::string_view label) {
  return with_label("kernel '" + std::string{kernel} + "'", label);
}

std::string of_address(std::uintptr_t address) {
  std::array<char, 2 * sizeof address> digits{};
  auto const [end, failed] =
      std::to_chars(digits.data(), digits.data() + digits.size(), address, 16);
  return "address 0x" + std::string{digits.data(), end};
}

}  // namespace flotilla::dispatch::check_text
