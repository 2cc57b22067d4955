// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields in CSV files.

#include <string>

#include "field.hpp"

namespace heat {

/// Reads a CSV file: each line is a row of numbers between commas. Empty lines are skipped. The
/// picture shows the range of these numbers.
/// @throws std::runtime_error  The message names the file, the line and the reason.
[[nodiscard]] field read_csv(std::string const& path);

}  // namespace heat
