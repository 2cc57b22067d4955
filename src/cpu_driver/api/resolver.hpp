#pragma once
// Finds entry points by name and version, for flotilla's loader of the built-in CPU driver.

namespace flotilla::cpu_driver {

/// The function of that name in the newest version not above `version`; null if there is none.
/// Its type is PFN_<name>_v<its version> of <cudaTypedefs.h>.
[[nodiscard]] void* resolve(char const* name, int version) noexcept;

}  // namespace flotilla::cpu_driver
