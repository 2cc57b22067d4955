#pragma once
#include <cstddef>

namespace flotilla::base {

/// Data of different writers must be this many bytes apart. A constant rather than the standard's
/// interference size, which may differ between compilers: the layout of slots in shared memory
/// depends on it.
inline constexpr std::size_t cache_line = 64;

}  // namespace flotilla::base
