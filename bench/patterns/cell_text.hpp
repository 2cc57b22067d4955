// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts for tables and verdicts.

#include <string>

#include "cell.hpp"

namespace flotilla::bench {

[[nodiscard]] std::string formatted(char const* format, double value);
/// Formats a positive number with three digits.
[[nodiscard]] std::string number(double value);
/// Aligns a text to the right.
[[nodiscard]] std::string padded(std::string const& text, int width);
/// The length of the kernels in us.
[[nodiscard]] std::string kernel_text(cell const& cell);
/// Names a cell, for example "fft, width 16, 192 steps, kernel 20 us".
[[nodiscard]] std::string name_of(cell const& cell);

}  // namespace flotilla::bench
