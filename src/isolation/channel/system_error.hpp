// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors for what the system refuses. They name the call, the reason, and the limit that may be the
// cause.

#include <cstddef>
#include <string>

namespace flotilla::isolated {

/// Throws what a system call has refused. Uses errno. @throws driver_error
[[noreturn]] void throw_refused(char const* call, std::string const& what);
/// Throws that mmap has refused addresses. Uses errno. @throws driver_error
[[noreturn]] void throw_no_addresses(std::string const& what, std::size_t bytes);

}  // namespace flotilla::isolated
