// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The last error of each thread that calls the C interface.

#include <exception>
#include <string>

#include <flotilla/c/status.h>

namespace flotilla::c_api {

/// An exception as C sees it.
struct described_error {
  flotilla_error_details details = FLOTILLA_ERROR_DETAILS_INIT;
  std::string text;
};

/// Describes an exception. If memory is missing, the text is empty.
[[nodiscard]] described_error describe(std::exception_ptr const& why) noexcept;

/// Stores an exception as the last error of the calling thread.
/// @param function  The name of the function that fails. It begins the text of a refused_call.
flotilla_status store_error(char const* function, std::exception_ptr const& why) noexcept;

}  // namespace flotilla::c_api
