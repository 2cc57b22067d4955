// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes messages to the log of the process (flotilla/error/log.hpp).

#include <optional>
#include <string>
#include <string_view>

#include <flotilla/error/log.hpp>

namespace flotilla::base {

/// Whether the log has messages of this level. Costs one load.
[[nodiscard]] bool is_logged(log_level level) noexcept;

/// Adds a message to the log if the log has messages of its level.
/// @param text  Without "flotilla: " at its beginning and without a newline at its end.
void log(log_level level, std::string_view text,
         std::optional<device_ordinal> device = {}) noexcept;

/// The same with a text as printf makes it. Without memory, the log gets the first 1023 characters.
[[gnu::format(printf, 2, 3)]] void log_format(log_level level, char const* format, ...) noexcept;

/// Writes a text that the user asked for (FLOTILLA_EXPLAIN), whatever the level.
void explain(std::string_view text) noexcept;

/// Checks the value of FLOTILLA_LOG. @throws unknown_setting
void check_log_environment();

/// Returns a message as a line for stderr.
/// @param with_details  Whether the line has time, level, thread and device.
[[nodiscard]] std::string log_line(log_message const& message, bool with_details);

}  // namespace flotilla::base
