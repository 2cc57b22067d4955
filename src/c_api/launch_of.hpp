// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes launches from the arguments of functions of the C interface.

#include <cstddef>
#include <span>

#include <flotilla/c/task.h>

#include "c_api/objects.hpp"

namespace flotilla::c_api {

/// @throws refused_call  The pointer is null, but `count` is not 0.
[[nodiscard]] std::span<flotilla_argument const> arguments_of(flotilla_argument const* first,
                                                              std::size_t count);

/// Makes the launch of an item of a bulk, or a single launch.
/// @throws refused_call, invalid_argument, wrong_runtime
[[nodiscard]] untyped_launch launch_of(held_kernel const& kernel, flotilla_shape const& shape,
                                       std::span<flotilla_argument const> arguments,
                                       std::size_t item = 0);

}  // namespace flotilla::c_api
