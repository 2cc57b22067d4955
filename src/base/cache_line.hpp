// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace flotilla::base {

/// The size of a cache line in bytes. Data that different threads write must be at least this far
/// apart. std::hardware_destructive_interference_size is not used, because it may differ between
/// compilers, and the layout of slots in shared memory depends on this number.
inline constexpr std::size_t cache_line = 64;

}  // namespace flotilla::base
