// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "trace_model.hpp"

namespace tool {

/// Returns a picture in the SVG format of the tracks of a trace with their slices and arrows. Its
/// size is limited for any trace: slices that are too small to see are merged, tracks beyond the
/// first rows of their name are summed up, and if arrows could not be told apart, only those of the
/// critical path are drawn.
[[nodiscard]] std::string picture_of(trace_model const& trace);

/// Writes the picture to a file.
/// @throws std::runtime_error  The file cannot be written. The message names the file.
void draw_trace(trace_model const& trace, std::filesystem::path const& file);

}  // namespace tool
