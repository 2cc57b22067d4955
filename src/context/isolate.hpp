// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gives isolated devices the driver that runs them in worker processes.

#include <span>
#include <string>

#include "context/description.hpp"
#include "context/request.hpp"

namespace flotilla::context {

/// Replaces the driver of `chosen` if a request asks for isolation. Otherwise changes nothing.
/// @param worker_path      See runtime_options.
/// @throws invalid_argument  There is no worker program, or a context source other than `owned` is
///                           combined with isolation.
void isolate(choice& chosen, std::span<request const> requests, std::string const& worker_path);

}  // namespace flotilla::context
