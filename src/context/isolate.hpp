// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gives isolated devices the driver that runs them in worker processes.

#include <span>
#include <string>

#include "context/description.hpp"
#include "context/request.hpp"

namespace flotilla::context {

/// Replaces the driver of `chosen` if a request asks for isolation, and sets the driver of the
/// other devices. Otherwise changes nothing.
/// @param worker_path      See runtime_options.
/// @throws invalid_argument  There is no worker program, a context source other than `owned` is
///                           combined with isolation, or a green context with isolated devices.
void isolate(choice& chosen, std::span<request const> requests, std::string const& worker_path);

/// Whether the request asks for isolation.
[[nodiscard]] bool is_isolated(request const& asked) noexcept;
/// Returns the driver of a device.
[[nodiscard]] std::shared_ptr<driver::table const> const& driver_of(choice const& chosen,
                                                                    request const& asked) noexcept;
/// Returns the device whose context gets the pinned memory that all devices use. If only some
/// devices are isolated, this is one of the others, because the driver of this process can register
/// memory only while one of its contexts is current.
[[nodiscard]] unsigned host_device(std::span<request const> requests) noexcept;

}  // namespace flotilla::context
