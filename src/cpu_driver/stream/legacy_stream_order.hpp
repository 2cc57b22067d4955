#pragma once
// The order that the NULL stream imposes on the blocking streams of its group. An operation of the
// NULL stream starts after everything that was submitted to them before it has ended, and their
// operations start after everything that was submitted to the NULL stream before them. Belongs to
// the device thread.

#include <cstdint>

#include "cpu_driver/stream/operation.hpp"

namespace flotilla::cpu_driver {

class legacy_stream_order {
 public:
  /// Numbers an operation in the order in which the streams of the group received theirs.
  void arrive(stream& target, operation& added) noexcept;
  [[nodiscard]] bool may_start(stream const& candidate, operation const& head) noexcept;
  /// Call after the head of `completed` has been removed. True if a stream that was held may now
  /// start.
  [[nodiscard]] bool complete(stream const& completed) noexcept;
  /// The stream's last operation, which is still its head, ends with the stream.
  void leave(stream& closed) noexcept;

 private:
  [[nodiscard]] bool passes_legacy(operation const& head) const noexcept;
  [[nodiscard]] bool passes_blocking(operation const& head) const noexcept;

  std::uint64_t sequence_ = 0;
  std::uint64_t legacy_pending_ = 0;
  std::uint64_t blocking_pending_ = 0;
  bool holding_ = false;  // a stream was held since the last completion
  stream* legacy_ = nullptr;
  stream* members_ = nullptr;  // blocking streams that have ever had an operation
};

}  // namespace flotilla::cpu_driver
