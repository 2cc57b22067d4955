// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of flotilla_program_compile.

#include <string_view>

#include <flotilla/c/program.h>
#include <flotilla/kernel/compile.hpp>

namespace flotilla::c_api {

/// @throws refused_call  The size of the struct is wrong, or there is a log without bytes.
[[nodiscard]] compile_options compile_options_of(flotilla_compile_options const& given);

/// Writes the log to the memory of the options, if they have any.
void write_log(flotilla_compile_options const& to, std::string_view log) noexcept;

}  // namespace flotilla::c_api
