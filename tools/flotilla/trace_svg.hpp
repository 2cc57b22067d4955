// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "trace_model.hpp"

namespace tool {

/// Draws the tracks of a trace with their slices and arrows as a picture in the SVG format. Slices
/// that are too small to see are merged.
/// @throws std::runtime_error  The file cannot be written. The message names the file.
void draw_trace(trace_model const& trace, std::filesystem::path const& file);

}  // namespace tool
