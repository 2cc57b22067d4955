// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Errors of functions of the interface for C that the application compiles.

#include <exception>

#include <flotilla/c/status.h>
#include <flotilla/detail/export.hpp>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// Stores an exception as the last error of the calling thread (flotilla_last_error).
/// @return its status
FLOTILLA_EXPORT flotilla_status store_last_error(std::exception_ptr const& why) noexcept;

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
