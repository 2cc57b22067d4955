#pragma once
#include <cstddef>

namespace flotilla::base {

/// What must not be shared between writers is this far apart, in bytes. A constant, not the standard's
/// interference size: that may differ between compilers, and slots are to lie in shared memory.
inline constexpr std::size_t cache_line = 64;

}  // namespace flotilla::base
