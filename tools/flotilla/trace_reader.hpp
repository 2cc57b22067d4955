// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "trace_model.hpp"

namespace tool {

/// Reads a trace that flotilla has written.
/// @throws std::runtime_error  The file cannot be read, is no trace of flotilla, or is incomplete.
///                             The message names the file.
[[nodiscard]] trace_model read_trace(std::filesystem::path const& file);

}  // namespace tool
