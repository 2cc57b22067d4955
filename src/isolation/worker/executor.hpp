// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Executes requests: decodes the arguments, calls the driver, and encodes the results.

#include <atomic>
#include <cstdint>
#include <span>

#include "driver/table.hpp"
#include "isolation/channel/message.hpp"
#include "isolation/protocol/operation.hpp"
#include "isolation/worker/host_registrations.hpp"
#include "isolation/worker/objects.hpp"

namespace flotilla::isolated {

/// The most bytes of names in one answer.
inline constexpr std::size_t max_name_bytes = 8192;

/// What all server threads of a worker share.
struct worker_parts {
  driver::table const& api;
  real_handles& objects;
  host_registrations& host;
  // The number of contexts that were destroyed. After each of them, an index or a handle may name
  // another context than before.
  std::atomic<std::uint32_t>& ended_contexts;
};

using handler = CUresult (*)(worker_parts& parts, message_reader& in, message_writer& out);

/// One for each server thread: it remembers which context is current.
class executor {
 public:
  explicit executor(worker_parts& parts) noexcept : parts_(parts) {}
  /// Executes one request. @return the status; `out` has the results
  [[nodiscard]] CUresult run(std::span<std::byte const> request, message_writer& out);

 private:
  worker_parts& parts_;
  std::uint32_t current_ = 0;  // the object of the current context
  std::uint32_t seen_ended_ = 0;
};

/// Returns the function that executes an operation, or null. The tables are in several files.
[[nodiscard]] handler generic_handler(operation what) noexcept;
[[nodiscard]] handler special_handler(operation what) noexcept;
[[nodiscard]] handler launch_handler(operation what) noexcept;
[[nodiscard]] handler graph_handler(operation what) noexcept;

}  // namespace flotilla::isolated
