// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Describes the build of flotilla and tells whether its measurements are meaningful.

#include <optional>
#include <string>

namespace flotilla::bench {

/// CMake's build type of this program, for example "Release". The library has the same build type,
/// because the program and the library are built in one build tree.
[[nodiscard]] std::string build_type();

/// Returns the reason why measurements of this build must not be reported. Returns std::nullopt if
/// they may be reported.
[[nodiscard]] std::optional<std::string> why_not_measured();

/// The first line of a run with --quick, so that nobody waits for figures.
inline constexpr char const* quick_heading =
    "--quick: checks that the rows work, and measures nothing";

}  // namespace flotilla::bench
