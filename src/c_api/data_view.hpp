// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Views of data, as functions of the program get them.

#include <cstddef>

#include <flotilla/c/data.h>
#include <flotilla/detail/data_use.hpp>

#include "c_api/objects.hpp"

namespace flotilla::c_api {

/// @throws refused_call  It is a token, or there are no such data.
[[nodiscard]] held_data& data_with_memory(flotilla_data handle);

/// Returns a view without a place. The view of a token has the rank 0.
[[nodiscard]] flotilla_view view_of(held_data const& data) noexcept;

/// Sets where the objects of a view are.
void set_place(flotilla_view& to, detail::placed_data const& at, std::size_t object_bytes) noexcept;

}  // namespace flotilla::c_api
