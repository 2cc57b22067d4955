// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "trace_model.hpp"

namespace tool {

/// @throws std::runtime_error  The file cannot be read. The message names it.
[[nodiscard]] std::string bytes_of(std::filesystem::path const& file);

/// Decodes the bytes of a trace. @throws std::runtime_error  As read_trace.
[[nodiscard]] trace_model decode_trace(std::string const& bytes, std::filesystem::path const& file);

/// Reads a trace that flotilla has written.
/// @throws std::runtime_error  The file cannot be read, is no trace of flotilla, or is incomplete.
///                             The message names the file.
[[nodiscard]] trace_model read_trace(std::filesystem::path const& file);

}  // namespace tool
