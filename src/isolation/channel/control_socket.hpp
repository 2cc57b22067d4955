// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A socket of two processes that also carries descriptors.

#include <cstddef>
#include <utility>

#include "isolation/channel/sealed_memory.hpp"

namespace flotilla::isolated {

/// @throws driver_error  The system refuses.
[[nodiscard]] std::pair<descriptor, descriptor> make_sockets();

/// Sends one message, with a descriptor unless it is -1. Blocks while the socket is full.
[[nodiscard]] bool send_message(int socket, void const* message, std::size_t bytes,
                                int passed = -1) noexcept;
/// Receives one message of exactly this size. `passed` gets the descriptor if there is one.
/// @return false  The other end is closed, or the message has another size.
[[nodiscard]] bool receive_message(int socket, void* message, std::size_t bytes,
                                   descriptor& passed) noexcept;

}  // namespace flotilla::isolated
