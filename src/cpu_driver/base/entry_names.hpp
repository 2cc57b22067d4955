#pragma once
// The names of the entry points of this driver, for those who only need names.

#include <string_view>

namespace flotilla::cpu_driver {

/// Whether this driver implements an entry point of that name, in any version. The name has no
/// version suffix: "cuMemAlloc", not "cuMemAlloc_v2".
[[nodiscard]] bool is_entry(std::string_view name) noexcept;

}  // namespace flotilla::cpu_driver
