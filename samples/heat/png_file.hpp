// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields in PNG files.

#include <string>

#include "field.hpp"

namespace heat {

/// Reads a PNG file. Black is 0 and white is 1. Colors are converted to gray, and transparency is
/// ignored.
/// @throws std::runtime_error  The message names the file and the reason.
[[nodiscard]] field read_png(std::string const& path);

/// Writes a gray picture with 16 bits for each cell. The low end of the field's range is black, the
/// high end is white.
/// @throws std::runtime_error  The message names the file and the reason.
void write_png(std::string const& path, field const& from);

}  // namespace heat
