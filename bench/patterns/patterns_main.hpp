// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The suite `patterns` of flotilla_bench: dependent tasks. docs/performance.md describes it.

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace flotilla::bench {

/// Returns whether the arguments contain `--suite patterns`.
[[nodiscard]] bool selects_patterns(int argc, char const* const* argv);

/// Runs the suite with these arguments.
/// @param context  Returns a description of the machine and the build as pairs of key and value.
/// @return The exit code: 0, or 1 if a measurement failed, or 2 if this build refuses to measure,
///         or another value if an argument is invalid.
[[nodiscard]] int run_patterns(
    int argc, char** argv,
    std::function<std::vector<std::pair<std::string, std::string>>()> const& context);

}  // namespace flotilla::bench
