#pragma once
// The build of flotilla, and whether its times are meaningful.

#include <optional>
#include <string>

namespace flotilla::bench {

/// CMake's name of the configuration, such as "Release". It is the library's as well: both are
/// built in one tree.
[[nodiscard]] std::string build_type();

/// Why times of this build may not be reported, or nothing if they may.
[[nodiscard]] std::optional<std::string> why_not_measured();

}  // namespace flotilla::bench
