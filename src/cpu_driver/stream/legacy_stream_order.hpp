// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order between the NULL stream of a group and the group's blocking streams. An operation of
// the NULL stream starts after all earlier operations of the blocking streams have ended. An
// operation of a blocking stream starts after all earlier operations of the NULL stream have ended.
// Only the device thread uses this class.

#include <cstdint>

#include "cpu_driver/stream/operation.hpp"

namespace flotilla::cpu_driver {

class legacy_stream_order {
 public:
  /// Gives the operation the next sequence number, which orders it among the operations of the NULL
  /// stream and the blocking streams.
  void arrive(stream& target, operation& added) noexcept;
  [[nodiscard]] bool may_start(stream const& candidate, operation const& head) noexcept;
  /// Must be called after the first operation of `completed` was removed. Returns true if
  /// may_start() may now return true for a stream for which it returned false before.
  [[nodiscard]] bool complete(stream const& completed) noexcept;
  /// Removes a stream that ends. Also counts the stream's close_stream operation as completed.
  void leave(stream& closed) noexcept;

 private:
  [[nodiscard]] bool passes_legacy(operation const& head) const noexcept;
  [[nodiscard]] bool passes_blocking(operation const& head) const noexcept;

  std::uint64_t sequence_ = 0;
  std::uint64_t legacy_pending_ = 0;
  std::uint64_t blocking_pending_ = 0;
  bool holding_ = false;  // whether may_start() returned false since the last completion
  stream* legacy_ = nullptr;
  stream* members_ = nullptr;  // list of the blocking streams that have had an operation
};

}  // namespace flotilla::cpu_driver
