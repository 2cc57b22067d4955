// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies that are sent to the worker as they are, because it can access their memory.

#include "isolation/calls/forward.hpp"

namespace flotilla::isolated {

inline constexpr auto send_htod =
    forwarded<effect::none, operation::memcpy_htod, &driver::table::memcpy_htod>;
inline constexpr auto send_dtoh =
    forwarded<effect::none, operation::memcpy_dtoh, &driver::table::memcpy_dtoh>;
inline constexpr auto send_htod_async =
    forwarded<effect::none, operation::memcpy_htod_async, &driver::table::memcpy_htod_async>;
inline constexpr auto send_dtoh_async =
    forwarded<effect::none, operation::memcpy_dtoh_async, &driver::table::memcpy_dtoh_async>;
inline constexpr auto send_async =
    forwarded<effect::none, operation::memcpy_async, &driver::table::memcpy_async>;
inline constexpr auto send_2d =
    forwarded<effect::none, operation::memcpy_2d_async, &driver::table::memcpy_2d_async>;
inline constexpr auto wait_for =
    forwarded<effect::none, operation::stream_synchronize, &driver::table::stream_synchronize>;

}  // namespace flotilla::isolated
