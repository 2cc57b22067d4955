// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The names of this driver's entry points, for code that does not need their addresses.

#include <string_view>

namespace flotilla::cpu_driver {

/// Whether this driver implements an entry point called `name`, in any version. The name must have
/// no version suffix: "cuMemAlloc", not "cuMemAlloc_v2".
[[nodiscard]] bool is_entry(std::string_view name) noexcept;

}  // namespace flotilla::cpu_driver
