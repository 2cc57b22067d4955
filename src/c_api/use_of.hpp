// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Uses of data by tasks.

#include <cstddef>
#include <span>

#include <flotilla/c/flow.h>
#include <flotilla/detail/data_use.hpp>
#include <flotilla/kernel/data_launch.hpp>

#include "c_api/objects.hpp"

namespace flotilla::c_api {

/// @param name  The name of the parameter, for messages.
/// @throws refused_call  The pointer is null, but `count` is not 0.
[[nodiscard]] std::span<flotilla_use const> uses_of(flotilla_use const* first, std::size_t count,
                                                    char const* name);

/// Converts a use of data or of a token.
/// @throws refused_call   The data do not exist, or cannot be used in this way.
/// @throws wrong_runtime  The data belong to another runtime than the flow.
[[nodiscard]] detail::datum_use use_of(held_flow const& flow, flotilla_use const& given);

/// Makes the launch of a task that uses data.
/// @throws refused_call, invalid_argument, wrong_runtime
[[nodiscard]] data_launch data_launch_of(held_flow const& flow, held_kernel const& kernel,
                                         flotilla_shape const& shape,
                                         std::span<flotilla_use const> arguments);

}  // namespace flotilla::c_api
