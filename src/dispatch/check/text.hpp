// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of the messages of the checks.

#include <cstdint>
#include <string>
#include <string_view>

namespace flotilla::dispatch::check_text {

/// Returns a text such as "kernel 'saxpy', label 'step 3'".
[[nodiscard]] std::string of_kernel(std::string_view kernel, std::string_view label);
/// Returns `what`, followed by the label if there is one.
[[nodiscard]] std::string with_label(std::string what, std::string_view label);
/// Returns a text such as "address 0x7f00".
[[nodiscard]] std::string of_address(std::uintptr_t address);

}  // namespace flotilla::dispatch::check_text
