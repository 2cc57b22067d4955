// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The messages on the socket between an owner and a worker. The socket carries what needs
// descriptors or must not wait for a channel. The owner sends, and the worker answers each message.

#include <cstddef>
#include <cstdint>

namespace flotilla::isolated {

inline constexpr std::uint32_t protocol_version = 2;

// The descriptors that a worker inherits, besides 0, 1 and 2.
inline constexpr int socket_descriptor = 3;
inline constexpr int channels_descriptor = 4;
inline constexpr int host_memory_descriptor = 5;

struct control_message {
  enum class kinds : std::uint32_t {
    hello,            // `device`, `is_gpu`, and the process of the owner
    open_channel,     // channel `number`
    map_memory,       // a block of device memory, with its descriptor
    unmap_memory,     // a block of device memory
    register_host,    // host memory that the device uses
    unregister_host,  // the same
    inject,           // a fault injection rule; `text`
    ping              // nothing: the answer says that the process does not hang
  };
  kinds kind;
  std::uint32_t version = protocol_version;
  std::int32_t device = 0;
  std::int32_t is_gpu = 0;
  std::int32_t owner = 0;  // its process id
  std::uint32_t number = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  char text[256] = {};
};

struct control_answer {
  std::int32_t status = 0;  // a CUresult
  char text[256] = {};      // for people; empty if all is well
};

}  // namespace flotilla::isolated
