// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes copies and fills from the arguments of functions of the C interface.

#include <cstddef>

#include <flotilla/c/memory.h>

#include "c_api/objects.hpp"

namespace flotilla::c_api {

/// A copy or fill, and the runtime of its memory.
struct owned_memory_op {
  held_runtime& owner;
  memory_op what;
};

/// @throws refused_call, invalid_argument, wrong_runtime
[[nodiscard]] owned_memory_op copy_of(flotilla_place const& to, flotilla_place const& from,
                                      std::size_t bytes);

/// Makes a fill that writes the `value_bytes` bytes at `value` `count` times.
/// @throws refused_call, invalid_argument
[[nodiscard]] owned_memory_op fill_of(flotilla_place const& to, void const* value,
                                      std::size_t value_bytes, std::size_t count);

}  // namespace flotilla::c_api
