// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Decides which kernels with a twin can also have an ordered twin.

#include "make_twins/ptx_module.hpp"

namespace flotilla::make_twins {

/// Whether `kernel`, which is suitable for a twin, can have an ordered twin. It cannot
/// - if it may read data through caches that do not see what other blocks of the grid wrote before,
/// - if some of its writes can still be under way when its threads return,
/// - if a function that it calls may end a thread,
/// - if the ordered twin would need more static shared memory than a kernel may have.
[[nodiscard]] bool can_be_ordered(ptx_module const& in, function const& kernel);

/// Whether `s` ends a thread of a kernel.
[[nodiscard]] bool returns(statement const& s);

/// Whether `s` loads data that must not change while the kernel runs. Without `.nc` in its name,
/// the instruction loads any data.
[[nodiscard]] bool loads_through_texture_cache(statement const& s);

}  // namespace flotilla::make_twins
