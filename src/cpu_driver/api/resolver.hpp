#pragma once
// Entry points by name and version: how flotilla's loader gets the CPU driver that is built in.

#include <string_view>

namespace flotilla::cpu_driver {

/// The function of that name in the newest version not above `version`; null when there is none.
/// Its type is PFN_<name>_v<its version> of <cudaTypedefs.h>.
[[nodiscard]] void* resolve(char const* name, int version) noexcept;

/// Whether there is any version of it.
[[nodiscard]] bool implemented(std::string_view name) noexcept;

}  // namespace flotilla::cpu_driver
