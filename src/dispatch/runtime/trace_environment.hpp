// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The trace that the environment asks for.

#include <optional>

#include <flotilla/trace.hpp>

namespace flotilla::dispatch {

/// Reads FLOTILLA_TRACE, the file, and FLOTILLA_TRACE_EVERY. @return empty if there is no file.
/// @throws unknown_setting  FLOTILLA_TRACE_EVERY is no positive number, or there is no file.
[[nodiscard]] std::optional<trace_options> trace_options_of_environment();

}  // namespace flotilla::dispatch
