// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds entry points by name and version, for the loader of the built-in CPU driver and for
// cuGetProcAddress.

namespace flotilla::cpu_driver {

/// Returns the newest version of the function `name` that is not newer than `version`, or null if
/// there is no such version. If the returned function has version V, its type is PFN_<name>_v<V>
/// from <cudaTypedefs.h>.
[[nodiscard]] void* resolve(char const* name, int version) noexcept;

}  // namespace flotilla::cpu_driver
