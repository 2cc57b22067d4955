#pragma once
// Which build of flotilla this is, and whether its times mean anything.

#include <optional>
#include <string>

namespace flotilla::bench {

/// CMake's name of the configuration, as "Release". The library is built by the same one: both are
/// parts of one tree.
[[nodiscard]] std::string build_type();

/// Why no times of this build may be reported; nothing: they may.
[[nodiscard]] std::optional<std::string> why_not_measured();

}  // namespace flotilla::bench
